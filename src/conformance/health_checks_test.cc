// The checks of health_checks.cc, each failing on one thing that is wrong.
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"
#include "conformance/health_judging.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;

StreamSeen Silent() { return {.version = "v1", .watched = 5s}; }

TEST(HealthChecks, EachFailsAlone) {
  const std::vector<Flaw> flaws = {
      {"health.announced", [](Observations& s) { s.health.unannounced["v1"] = OkStatus(); }},
      {"health.first-report",
       [](Observations& s) {
         for (StreamSeen& stream : s.health.steady) stream.first_after = 5001ms;
       }},
      {"health.resend",
       [](Observations& s) {
         for (StreamSeen& stream : s.health.steady) {
           stream.reports.pop_back();
           stream.reports.back().after = 31s;
           stream.watched = 40s;
         }
       }},
      // One device is left out of the repetitions.
      {"health.resend",
       [](Observations& s) {
         for (std::size_t i = 1; i < 3; ++i) s.health.steady[0].reports[i].devices.pop_back();
         s.health.steady[0].watched = 31s;
         s.health.steady.pop_back();
       }},
      {"health.stays-open", [](Observations& s) { s.health.steady[1].end = OkStatus(); }},
      {"health.rate", [](Observations& s) { s.health.steady[0].report_count = 400; }},
      {"health.unknown-field",
       [](Observations& s) {
         s.health.with_unknown_field = Silent();
         s.health.with_unknown_field->end = InvalidArgument("unknown field");
       }},
      {"health.many-subscribers", [](Observations& s) { s.health.crowd[1] = Silent(); }},
      {"health.many-subscribers",
       [](Observations& s) { s.health.crowd[0].end = ResourceExhausted("one reader only"); }},
      {"health.shared-connection", [](Observations& s) { s.health.shared[0] = Silent(); }},
      {"health.after-cancel", [](Observations& s) { s.health.after_cancel = Silent(); }},
      {"health.after-break", [](Observations& s) { s.health.after_break = Silent(); }},
  };
  std::vector<Check> alone;
  const std::vector<Check> contents = HealthReportChecks();
  for (const Check& check : HealthChecks()) {
    const bool other = std::any_of(contents.begin(), contents.end(),
                                   [&](const Check& one) { return one.id == check.id; });
    // A service that is not there brings no report either; see below.
    if (!other && check.id != "health.served") alone.push_back(check);
  }
  ExpectEachFailsAlone(flaws, alone);
}

TEST(HealthChecks, AnAnnouncedServiceThatIsNotThereFails) {
  Observations seen = GoodObservations();
  seen.health.steady[1] = {.version = "v1alpha1", .end = Unimplemented("unknown service")};
  EXPECT_EQ(ResultOf(seen, "health.served").level, Level::kBad);
}

TEST(HealthChecks, ADriverWithoutHealthIsNotChecked) {
  Observations seen = GoodObservations();
  seen.registration.info.info.versions = {"v1.DRAPlugin"};
  seen.health = {};
  seen.health.unannounced = {{"v1", Unimplemented("")}, {"v1alpha1", Unimplemented("")}};
  for (const CheckResult& result : Judge(seen)) {
    if (result.group() != "health") continue;
    const bool served = result.id == "health.announced";
    EXPECT_EQ(result.level, served ? Level::kGood : Level::kUnknown) << result.id;
  }
}

TEST(HealthChecks, AStreamThatEndedIsNoProofOfRepetition) {
  Observations seen = GoodObservations();
  for (StreamSeen& stream : seen.health.steady) stream.end = OkStatus();
  EXPECT_EQ(ResultOf(seen, "health.resend").level, Level::kUnknown);
}

TEST(HealthChecks, ADriverWithoutDevicesPassesNothingOfThem) {
  Observations seen = GoodObservations();
  for (StreamSeen& stream : seen.health.steady) {
    for (HealthReportSeen& report : stream.reports) report.devices.clear();
  }
  for (const char* id : {"health.resend", "health.versions-alike", "health.no-duplicates",
                         "health.first-report-complete", "health.names", "health.utf8"}) {
    EXPECT_EQ(ResultOf(seen, id).level, Level::kUnknown) << id;
  }
}

TEST(HealthChecks, ATimeoutThatDidNotPassIsNotChecked) {
  Observations seen = GoodObservations();
  seen.health.steady.pop_back();
  seen.health.steady[0].reports.resize(1);
  for (auto& device : seen.health.steady[0].reports[0].devices) device.timeout_seconds = 3600;
  const CheckResult result = ResultOf(seen, "health.resend");
  EXPECT_EQ(result.level, Level::kUnknown);
  EXPECT_THAT(result.seen, ::testing::HasSubstr("3600.0 s"));
}

}  // namespace
}  // namespace galen::conformance
