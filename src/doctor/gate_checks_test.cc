// The checks of gate_checks.cc, by metrics, by configuration and by a version's defaults.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

TEST(GateChecks, EachFindsItsGateOff) {
  ExpectEachIsFound(
      {
          {{"gates.dra bad"},
           "DynamicResourceAllocation is off, by the kubelet's /metrics",
           [](Observations& s) { s.kubelet.gates->values["DynamicResourceAllocation"] = false; }},
          {{"gates.health warning"},
           "ResourceHealthStatus is off",
           [](Observations& s) { s.kubelet.gates->values["ResourceHealthStatus"] = false; }},
          {{"gates.health-api warning"},
           "ResourceHealthStatus is off, by the API server's /metrics",
           [](Observations& s) { s.api.gates->values["ResourceHealthStatus"] = false; }},
          {{"gates.message warning"},
           "ResourceHealthStatusMessage is off",
           [](Observations& s) { s.kubelet.gates->values["ResourceHealthStatusMessage"] = false; }},
          {{"gates.message-api warning"},
           "ResourceHealthStatusMessage is off",
           [](Observations& s) { s.api.gates->values["ResourceHealthStatusMessage"] = false; }},
          {{"gates.taints warning"},
           "DRADeviceTaints is off",
           [](Observations& s) { s.api.gates->values["DRADeviceTaints"] = false; }},
      },
      GateChecks());
}

TEST(GateChecks, AConfigurationThatSetsNothingMeansTheVersionsDefault) {
  Observations seen = GoodObservations();
  seen.kubelet.gates = Gates{.values = {}, .source = "/k/config.yaml", .complete = false};
  EXPECT_EQ(ResultOf(seen, "gates.health").level, Level::kGood);
  seen.api.node->kubelet_version = "v1.35.0";
  EXPECT_EQ(ResultOf(seen, "gates.health").level, Level::kWarning);
  EXPECT_EQ(ResultOf(seen, "gates.dra").level, Level::kGood);
  seen.kubelet.gates->values["ResourceHealthStatus"] = true;
  EXPECT_EQ(ResultOf(seen, "gates.health").level, Level::kGood);
}

TEST(GateChecks, AGateThatIsNowhereToBeReadIsUnknown) {
  Observations seen = GoodObservations();
  // A page names all gates that a program has: one that is missing has become a fixed part.
  seen.kubelet.gates->values.erase("DynamicResourceAllocation");
  EXPECT_EQ(ResultOf(seen, "gates.dra").level, Level::kUnknown);
  seen.kubelet.gates = PermissionDenied("nodes \"node-7\" is forbidden");
  EXPECT_EQ(ResultOf(seen, "gates.health").level, Level::kUnknown);
  EXPECT_THAT(ResultOf(seen, "gates.health").seen, ::testing::HasSubstr("forbidden"));
  // Neither a page nor a version.
  seen.kubelet.gates = Gates{.values = {}, .source = "/k/config.yaml", .complete = false};
  seen.api.node = Unavailable("no cluster");
  EXPECT_EQ(ResultOf(seen, "gates.health").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
