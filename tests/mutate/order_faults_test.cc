// The prepared faults of order are of today's sources: a change of a line that one of them changes,
// too, has to mend order_faults.patch.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "base/files/posix_file_system.h"

namespace galen::mutate {
namespace {

const std::string kSources = GALEN_SOURCE_DIR "/";

struct OrderPatch {
  std::set<std::string> named;  // above the first file
  std::string added;            // all lines that it adds
  // By file: what each hunk takes for there, as lines that follow one another.
  std::multimap<std::string, std::string> expected;
};

OrderPatch ReadPatch() {
  OrderPatch patch;
  std::istringstream lines(
      PosixFileSystem().Read(kSources + "tests/mutate/order_faults.patch").value());
  std::string file;
  std::multimap<std::string, std::string>::iterator hunk;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--- ")) {
      file = line.starts_with("--- a/") ? line.substr(6) : "";
    } else if (line.starts_with("@@")) {
      hunk = patch.expected.emplace(file, "");
    } else if (line.starts_with("+")) {
      patch.added += line + "\n";
    } else if (patch.expected.empty()) {
      const std::size_t colon = line.find(": ");
      if (file.empty() && colon != std::string::npos) patch.named.insert(line.substr(0, colon));
    } else {
      hunk->second += (line.empty() ? "" : line.substr(1)) + "\n";
    }
  }
  return patch;
}

TEST(OrderFaults, AreOfTodaysSources) {
  const OrderPatch patch = ReadPatch();
  EXPECT_GE(patch.expected.size(), patch.named.size());
  for (const auto& [file, lines] : patch.expected) {
    if (file.empty()) continue;  // that it makes
    const std::string text = "\n" + PosixFileSystem().Read(kSources + file).value();
    EXPECT_NE(text.find("\n" + lines), std::string::npos) << file << " has not:\n" << lines;
  }
}

TEST(OrderFaults, AreNamedWhereTheyArePlanted) {
  const OrderPatch patch = ReadPatch();
  EXPECT_EQ(patch.named.size(), 24u);
  for (const std::string& name : patch.named) {
    EXPECT_NE(patch.added.find("Planted(\"" + name + "\")"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace galen::mutate
