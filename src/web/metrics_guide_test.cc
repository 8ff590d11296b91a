// docs/guide/metrics.md names every metric that a program can show, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace galen::web {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

// Names in quotes, as they are declared.
std::set<std::string> NamesInSources() {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GALEN_SOURCE_DIR) / "src")) {
    const std::string path = entry.path().string();
    const bool source = path.ends_with(".cc") || path.ends_with(".h");
    if (!source || path.ends_with("_test.cc")) continue;
    const std::string text = ReadText(path);
    if (text.find("\"galen_") == std::string::npos) continue;  // most; a regex is slow
    names.merge(Matches(text, "\"(galen_[a-z_]+)\""));
  }
  return names;
}

TEST(MetricsGuide, NamesEveryMetricAndNoOther) {
  const std::string guide = ReadText(fs::path(GALEN_SOURCE_DIR) / "docs/guide/metrics.md");
  const std::set<std::string> in_tables = Matches(guide, R"(\n\| `(galen_[a-z_]+)` \|)");
  EXPECT_THAT(in_tables, ::testing::ContainerEq(NamesInSources()));
}

TEST(MetricsGuide, GivesAnAlertForEveryMetric) {
  const std::string guide = ReadText(fs::path(GALEN_SOURCE_DIR) / "docs/guide/metrics.md");
  const std::string alerts = guide.substr(guide.find("## Alerts"));
  for (const std::string& name : NamesInSources()) {
    EXPECT_NE(alerts.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace galen::web
