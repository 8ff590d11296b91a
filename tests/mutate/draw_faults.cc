// draw_faults: draws faults in product code and writes each as a changed file, for
// tests/mutate/run.sh. Changes nothing itself.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/flags.h"
#include "tests/mutate/draw.h"

namespace galen::mutate {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string root = ".";
  std::string out;
  std::int64_t seed = 1;
  std::int64_t sample = 10;
  std::vector<std::string> rooms;
};

bool IsProduct(const std::string& name) {
  return name.ends_with(".cc") && !name.ends_with("_test.cc") && !name.starts_with("fake_") &&
         !name.starts_with("test_");
}

// The product files of "agent" or "agent/health", in the order of their names.
std::vector<SourceText> SourcesOf(const std::string& root, const std::string& room) {
  std::vector<SourceText> sources;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / "src" / room)) {
    if (!IsProduct(entry.path().filename().string())) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    sources.push_back({fs::relative(entry.path(), root).string(), text.str()});
  }
  std::sort(sources.begin(), sources.end(),
            [](const SourceText& a, const SourceText& b) { return a.path < b.path; });
  return sources;
}

// "OUT/model-001.cc" and so on, and a row of each on standard output: name, room, file, line, kind,
// before, after.
void Write(const Arguments& arguments, const std::string& room) {
  const auto faults =
      Draw(SourcesOf(arguments.root, room), room, static_cast<std::uint64_t>(arguments.seed),
           static_cast<std::size_t>(arguments.sample));
  std::string prefix = room;
  std::replace(prefix.begin(), prefix.end(), '/', '-');
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i];
    const std::string name = fmt::format("{}-{:03}", prefix, i + 1);
    std::ofstream(fs::path(arguments.out) / (name + ".cc")) << fault.source;
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", name, room, fault.path, fault.line, fault.kind,
               fault.before, fault.after);
  }
}

Status Check(const Arguments& arguments) {
  if (arguments.sample < 1) return InvalidArgument("--sample {}: at least 1", arguments.sample);
  for (const std::string& room : arguments.rooms) {
    if (!fs::is_directory(fs::path(arguments.root) / "src" / room)) {
      return InvalidArgument("no room {} below {}/src", room, arguments.root);
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace galen::mutate

int main(int argc, char** argv) {
  using galen::mutate::Arguments;
  Arguments arguments;
  galen::Flags flags("draw_faults", "Draws faults of product code, for ./dev mutate", "");
  flags.Add("--root", arguments.root, "the source tree");
  flags.Add("--out", arguments.out, "where the changed files go");
  flags.Add("--seed", arguments.seed, "the same seed draws the same faults");
  flags.Add("--sample", arguments.sample, "how many of each room");
  flags.AddPositionals("room", arguments.rooms, "a room or a sub-room: agent, agent/health");
  flags.AddCheck([&arguments] { return galen::mutate::Check(arguments); });
  if (const auto code = flags.Parse(argc, argv)) return *code;
  std::filesystem::create_directories(arguments.out);
  for (const std::string& room : arguments.rooms) galen::mutate::Write(arguments, room);
  return 0;
}
