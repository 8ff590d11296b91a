#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/examination.h"

namespace galen::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CheckResult Made(std::string id, std::string expected, Level level, std::string seen,
                 std::string advice) {
  return {.id = std::move(id),
          .level = level,
          .severity = Level::kBad,
          .expected = std::move(expected),
          .seen = std::move(seen),
          .means = "",
          .advice = std::move(advice)};
}

std::vector<DriverReport> Reports() {
  return {{.driver = "gpu.example.com",
           .socket = "/k/gpu-reg.sock",
           .results = {
               Made("registration.name", "The name is good", Level::kGood, "15 bytes", "Rename."),
               Made("health.utf8", "Texts are UTF-8", Level::kBad, "\"<&\"", "Clean it."),
               Made("claims.prepare", "It prepares", Level::kUnknown, "no cluster given",
                    "Prepare.")}}};
}

TEST(Report, IsGroupedWithOneLineACheck) {
  EXPECT_EQ(TextReport(Reports()),
            "gpu.example.com at /k/gpu-reg.sock\n"
            "full: this run was the driver's kubelet\n"
            "\nregistration\n"
            "  passed       The name is good (15 bytes)\n"
            "\nhealth\n"
            "  failed       Texts are UTF-8\n"
            "               seen:  \"<&\"\n"
            "               do:    Clean it.\n"
            "               check: health.utf8\n"
            "\nclaims\n"
            "  not checked  It prepares: no cluster given\n"
            "\n3 checks: 1 passed, 1 failed, 1 not checked\n");
}

TEST(Report, SaysWhenItOnlyLooked) {
  std::vector<DriverReport> reports = Reports();
  EXPECT_THAT(TextReport(reports), HasSubstr("full: this run was the driver's kubelet\n"));
  reports[0].read_only = true;
  reports[0].why_read_only = "it was asked for";
  EXPECT_THAT(TextReport(reports),
              HasSubstr("read-only, since it was asked for: nothing was registered or prepared\n"));
  EXPECT_EQ(JsonReport(reports)["drivers"][0]["mode"].AsString(), "read-only");
}

TEST(Report, SaysWhatItLeftBehind) {
  std::vector<DriverReport> reports = Reports();
  EXPECT_THAT(TextReport(reports), Not(HasSubstr("left behind")));
  reports[0].left_behind = {"a test claim: delete ResourceClaim t/galen-conformance-1: 403"};
  EXPECT_TRUE(TextReport(reports).ends_with(
      "not checked\nleft behind: a test claim: delete ResourceClaim t/galen-conformance-1: 403\n"));
  EXPECT_EQ(JsonReport(reports)["drivers"][0]["leftBehind"][0].AsString(),
            reports[0].left_behind[0]);
}

TEST(Report, GivesOneReasonForNotCheckingOnceAGroup) {
  std::vector<DriverReport> reports = Reports();
  reports[0].results.push_back(
      Made("claims.again", "It prepares again", Level::kUnknown, "no cluster given", "x"));
  reports[0].results.push_back(
      Made("claims.end", "It lets go", Level::kUnknown, "nothing was prepared", "x"));
  EXPECT_THAT(TextReport(reports),
              HasSubstr("\nclaims\n"
                        "  not checked  It prepares: no cluster given (and 1 more like it)\n"
                        "  not checked  It lets go: nothing was prepared\n"
                        "\n5 checks: 1 passed, 1 failed, 3 not checked\n"));
}

TEST(Report, CountsWhatWasNotCheckedApart) {
  const checks::Tally tally = Count(Reports());
  EXPECT_EQ(tally.good, 1u);
  EXPECT_EQ(tally.bad, 1u);
  EXPECT_EQ(tally.unknown, 1u);
  const Json json = JsonReport(Reports());
  EXPECT_EQ(json["summary"]["notChecked"].AsInt(), 1);
  const Json& check = json["drivers"][0]["checks"][1];
  EXPECT_EQ(check["id"].AsString(), "health.utf8");
  EXPECT_EQ(check["group"].AsString(), "health");
  EXPECT_EQ(check["verdict"].AsString(), "failed");
  EXPECT_EQ(check["advice"].AsString(), "Clean it.");
}

TEST(Report, AsJunitIsXmlWithASuiteAGroup) {
  const std::string xml = JunitReport(Reports());
  EXPECT_THAT(xml, HasSubstr(R"(tests="3" failures="1" errors="0" skipped="1")"));
  EXPECT_THAT(xml, HasSubstr(R"(<testsuite name="gpu.example.com.health" tests="1")"));
  EXPECT_THAT(xml,
              HasSubstr(R"(<testcase classname="gpu.example.com.registration" name="name"/>)"));
  EXPECT_THAT(xml, HasSubstr(R"(<failure message="&quot;&lt;&amp;&quot;">)"));
  EXPECT_THAT(xml, HasSubstr(R"(<skipped message="no cluster given"/>)"));
}

TEST(Report, OfAStrangerHasNoControlCharacters) {
  std::vector<DriverReport> reports = Reports();
  reports[0].driver = "a\x1b[2J\xff";
  reports[0].results[1].seen = "b\x01";
  for (const std::string& text : {TextReport(reports), JunitReport(reports)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(JunitReport(reports).find('\x01'), std::string::npos);
}

}  // namespace
}  // namespace galen::conformance
