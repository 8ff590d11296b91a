#include "checks/report.h"

#include <gtest/gtest.h>

namespace galen::checks {
namespace {

std::string_view LevelName(Level level) { return level == Level::kGood ? "good" : "not good"; }

CheckResult Made(std::string id, Level level, std::string seen, std::string means = "") {
  return {.id = std::move(id),
          .level = level,
          .severity = Level::kBad,
          .expected = "E",
          .seen = std::move(seen),
          .means = std::move(means),
          .advice = "D."};
}

std::vector<CheckResult> Plain() {
  return {Made("a.x", Level::kGood, "s"), Made("b.y", Level::kBad, "<")};
}

std::vector<CheckResult> WithMeaning() {
  return {Made("a.x", Level::kGood, "s", "M."), Made("a.y", Level::kBad, "<", "M."),
          Made("a.z", Level::kWarning, "s", "M."), Made("a.w", Level::kUnknown, "s", "M.")};
}

TEST(ChecksReport, JunitHasASuiteForEachGroup) {
  EXPECT_EQ(ToJunit("t", {{"n", Plain()}, {"m", WithMeaning()}}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"t\" tests=\"6\" failures=\"2\" errors=\"0\" skipped=\"1\">\n"
            "  <testsuite name=\"n.a\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\">\n"
            "    <testcase classname=\"n.a\" name=\"x\"/>\n"
            "  </testsuite>\n"
            "  <testsuite name=\"n.b\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n"
            "    <testcase classname=\"n.b\" name=\"y\">\n"
            "      <failure message=\"&lt;\">expected: E\nseen: &lt;\ndo: D.</failure>\n"
            "    </testcase>\n"
            "  </testsuite>\n"
            "  <testsuite name=\"m.a\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">\n"
            "    <testcase classname=\"m.a\" name=\"x\"></testcase>\n"
            "    <testcase classname=\"m.a\" name=\"y\">\n"
            "      <failure message=\"&lt;\">seen: &lt;\nmeans: M.\ndo: D.</failure>\n"
            "    </testcase>\n"
            "    <testcase classname=\"m.a\" name=\"z\">\n"
            "      <system-out>warning: s\nmeans: M.\ndo: D.</system-out>\n"
            "    </testcase>\n"
            "    <testcase classname=\"m.a\" name=\"w\">\n"
            "      <skipped message=\"s\"/>\n"
            "    </testcase>\n"
            "  </testsuite>\n"
            "</testsuites>\n");
}

TEST(ChecksReport, JsonHasSeverityAndMeaningOnlyWhereChecksHaveThem) {
  EXPECT_EQ(ToJson(Plain(), LevelName).items()[1], Json::MakeObject({{"id", "b.y"},
                                                                     {"group", "b"},
                                                                     {"verdict", "not good"},
                                                                     {"expected", "E"},
                                                                     {"seen", "<"},
                                                                     {"advice", "D."}}));
  EXPECT_EQ(ToJson(WithMeaning(), LevelName).items()[0], Json::MakeObject({{"id", "a.x"},
                                                                           {"group", "a"},
                                                                           {"verdict", "good"},
                                                                           {"severity", "not good"},
                                                                           {"expected", "E"},
                                                                           {"seen", "s"},
                                                                           {"means", "M."},
                                                                           {"advice", "D."}}));
}

}  // namespace
}  // namespace galen::checks
