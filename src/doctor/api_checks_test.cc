// The checks of api_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;

TEST(ApiChecks, EachFindsWhatItIsFor) {
  ExpectEachIsFound(
      {
          {{"api.reachable bad", "kubelet.version unknown"},
           "connection refused",
           [](Observations& s) { s.api.version = Unavailable("connection refused"); }},
          {{"api.dra bad"},
           "resource.k8s.io: v1beta1",
           [](Observations& s) { s.api.dra_versions = std::set<std::string>{"v1beta1"}; }},
          {{"api.dra bad"},
           "is not served",
           [](Observations& s) { s.api.dra_versions = NotFound("the server has no such page"); }},
          {{"api.clock warning"},
           "4.0 s ahead of the API server's",
           [](Observations& s) { s.api.clock = ClockSeen{.ahead = 4s, .uncertainty = 505ms}; }},
          {{"api.clock bad"},
           "20s ahead of",
           [](Observations& s) { s.api.clock = ClockSeen{.ahead = 20s, .uncertainty = 505ms}; }},
          {{"api.clock bad"},
           "20s behind the",
           [](Observations& s) { s.api.clock = ClockSeen{.ahead = -20s, .uncertainty = 505ms}; }},
      },
      ApiChecks());
}

TEST(ApiChecks, AClusterThatNobodyNamedIsNoFault) {
  Observations seen = GoodObservations();
  seen.api.server = "";
  seen.api.version = FailedPrecondition("no cluster: --kubeconfig names one");
  const CheckResult result = ResultOf(seen, "api.reachable");
  EXPECT_EQ(result.level, Level::kUnknown);
  EXPECT_THAT(result.seen, ::testing::HasSubstr("--kubeconfig"));
}

TEST(ApiChecks, ASlowAnswerIsNoClockThatIsWrong) {
  Observations seen = GoodObservations();
  seen.api.clock = ClockSeen{.ahead = -5s, .uncertainty = 4s};
  EXPECT_EQ(ResultOf(seen, "api.clock").level, Level::kGood);
}

}  // namespace
}  // namespace galen::doctor
