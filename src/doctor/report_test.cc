#include "doctor/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CheckResult Made(const std::string& id, Level level, const std::string& seen) {
  return {.id = id,
          .level = level,
          .severity = Level::kBad,
          .expected = "It is well",
          .seen = seen,
          .means = "Something does not work.",
          .advice = "Mend it & go on."};
}

Report SampleReport() {
  return {.node = "node-7",
          .kubelet_root = "/k",
          .when = *ParseRfc3339("2026-11-21T14:02:11Z"),
          .results = {Made("api.reachable", Level::kGood, "v1.37.1"),
                      Made("api.clock", Level::kWarning, "4 s ahead"),
                      Made("drivers.answer", Level::kUnknown, "not root"),
                      Made("drivers.dead-sockets", Level::kBad, "<old>.sock: refused")}};
}

TEST(DoctorReport, NamesTheWorstFirstAndWhatToDo) {
  EXPECT_EQ(TextReport(SampleReport(), {}), R"(node node-7, kubelet root /k

BAD       drivers.dead-sockets
  seen    <old>.sock: refused
  means   Something does not work.
  do      Mend it & go on.

WARNING   api.clock
  seen    4 s ahead
  means   Something does not work.
  do      Mend it & go on.

Could not be looked at, because of
  not root
    drivers.answer

4 checks: 1 bad, 1 warning, 1 unknown, 1 healthy
)");
}

TEST(DoctorReport, WideNamesWhatIsHealthyToo) {
  EXPECT_THAT(TextReport(SampleReport(), {.wide = true}),
              HasSubstr("healthy\n  api.reachable           v1.37.1\n"));
}

TEST(DoctorReport, NamesAReasonOnceForAllThatItHides) {
  Report report = SampleReport();
  report.results.push_back(Made("agent.running", Level::kUnknown, "no socket"));
  report.results.push_back(Made("slices.missing", Level::kUnknown, "not root"));
  EXPECT_THAT(TextReport(report, {}), HasSubstr("Could not be looked at, because of\n"
                                                "  not root\n    drivers.answer slices.missing\n"
                                                "  no socket\n    agent.running\n"));
}

TEST(DoctorReport, SaysWhereRightsThatAreMissingComeFrom) {
  Report report = SampleReport();
  report.results.push_back(Made("kubelet.lease", Level::kUnknown,
                                "missing right: get leases of API group coordination.k8s.io"));
  const std::string text = TextReport(report, {});
  EXPECT_THAT(text, HasSubstr("\n  missing right: get leases of API group coordination.k8s.io\n"
                              "    kubelet.lease\n\ndeploy/galen.yaml gives the agent's account"));
  EXPECT_THAT(TextReport(SampleReport(), {}), Not(HasSubstr("deploy/galen.yaml")));
}

TEST(DoctorReport, IsWrappedToTheTerminal) {
  Report report = SampleReport();
  report.results = {Made("a.b", Level::kBad,
                         "one two three four five six seven eight nine ten "
                         "eleven twelve thirteen")};
  EXPECT_THAT(TextReport(report, {.columns = 40}),
              HasSubstr("  seen    one two three four five six\n"
                        "          seven eight nine ten eleven\n"
                        "          twelve thirteen\n"));
}

TEST(DoctorReport, JsonHoldsEverything) {
  const Json json = JsonReport(SampleReport());
  EXPECT_EQ(json["node"].AsString(), "node-7");
  EXPECT_EQ(json["time"].AsString(), "2026-11-21T14:02:11Z");
  EXPECT_EQ(json["checks"].items().size(), 4u);
  const Json& check = json["checks"][3];
  EXPECT_EQ(check["id"].AsString(), "drivers.dead-sockets");
  EXPECT_EQ(check["group"].AsString(), "drivers");
  EXPECT_EQ(check["verdict"].AsString(), "bad");
  EXPECT_EQ(check["severity"].AsString(), "bad");
  EXPECT_EQ(check["advice"].AsString(), "Mend it & go on.");
  EXPECT_EQ(json["summary"]["bad"].AsInt(), 1);
  EXPECT_EQ(json["summary"]["unknown"].AsInt(), 1);
}

TEST(DoctorReport, JunitFailsWhatIsBadAndSkipsWhatIsUnknown) {
  const std::string xml = JunitReport(SampleReport());
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"galen doctor\" tests=\"4\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"node-7.drivers\" tests=\"2\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"&lt;old&gt;.sock: refused\">"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"not root\"/>"));
  EXPECT_THAT(xml, HasSubstr("warning: 4 s ahead"));
  EXPECT_THAT(xml, HasSubstr("Mend it &amp; go on."));
  EXPECT_THAT(xml, Not(HasSubstr("<old>")));
}

}  // namespace
}  // namespace galen::doctor
