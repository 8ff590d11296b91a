// The checks of health_report_checks.cc, each failing on one thing that is wrong.
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"
#include "conformance/health_judging.h"

namespace galen::conformance {
namespace {

// Changes a device in every report of every stream: what is wrong is not that they differ.
void Everywhere(Observations& seen, const std::function<void(DeviceHealthSeen&)>& change) {
  for (StreamSeen& stream : seen.health.steady) {
    for (HealthReportSeen& report : stream.reports) change(report.devices[0]);
  }
}

TEST(HealthReportChecks, EachFailsAlone) {
  const std::vector<Flaw> flaws = {
      {"health.first-report-complete",
       [](Observations& s) { s.health.steady[0].reports[0].devices.pop_back(); }},
      {"health.versions-alike",
       [](Observations& s) { s.health.steady[1].reports.back().devices[0].health = 2; }},
      {"health.versions-alike",
       [](Observations& s) { s.health.steady[1].reports.back().devices.pop_back(); }},
      {"health.wire", [](Observations& s) { s.health.steady[0].reports[1].broken = true; }},
      {"health.names",
       [](Observations& s) {
         Everywhere(s, [](DeviceHealthSeen& d) { d.device = "GPU 0"; });
         s.slices.not_checked = "no cluster";
       }},
      {"health.names",
       [](Observations& s) {
         Everywhere(s, [](DeviceHealthSeen& d) { d.pool = ""; });
         s.slices.not_checked = "no cluster";
       }},
      {"health.no-duplicates",
       [](Observations& s) {
         HealthReportSeen& report = s.health.steady[0].reports[0];
         report.devices.push_back(report.devices[0]);
       }},
      {"health.states",
       [](Observations& s) { Everywhere(s, [](DeviceHealthSeen& d) { d.health = 3; }); }},
      {"health.timeouts",
       [](Observations& s) { Everywhere(s, [](DeviceHealthSeen& d) { d.timeout_seconds = -1; }); }},
      {"health.updated",
       [](Observations& s) {
         Everywhere(s, [](DeviceHealthSeen& d) { d.updated_unix_seconds *= 1000; });
       }},
      {"health.message-bytes",
       [](Observations& s) {
         Everywhere(s, [](DeviceHealthSeen& d) { d.message = std::string(1025, 'x'); });
       }},
      {"health.utf8",
       [](Observations& s) { Everywhere(s, [](DeviceHealthSeen& d) { d.message = "\xff"; }); }},
      {"health.report-bytes",
       [](Observations& s) { s.health.steady[0].reports[0].bytes = 4 * 1024 * 1024 + 1; }},
      {"health.message-rests",
       [](Observations& s) {
         for (StreamSeen& stream : s.health.steady) {
           int number = 0;
           for (HealthReportSeen& report : stream.reports) {
             report.devices[0].message = "seen " + std::to_string(++number);
           }
         }
       }},
  };
  ExpectEachFailsAlone(flaws, HealthReportChecks());
}

TEST(HealthReportChecks, AMessageMayChangeWithTheStateAndOnceInAWhile) {
  Observations seen = GoodObservations();
  for (StreamSeen& stream : seen.health.steady) stream.reports[2].devices[0].message = "fan fast";
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

TEST(HealthReportChecks, TwoReportsAreTooFewToJudgeMessages) {
  Observations seen = GoodObservations();
  for (StreamSeen& stream : seen.health.steady) stream.reports.pop_back();
  EXPECT_EQ(ResultOf(seen, "health.message-rests").level, Level::kUnknown);
}

TEST(HealthReportChecks, OneVersionHasNoOtherToDifferFrom) {
  Observations seen = GoodObservations();
  seen.health.steady.pop_back();
  EXPECT_EQ(ResultOf(seen, "health.versions-alike").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::conformance
