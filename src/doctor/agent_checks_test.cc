// The checks of agent_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

const std::vector<Flaw>& AgentFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"agent.running bad", "agent.role unknown", "agent.troubles unknown",
        "agent.drivers unknown", "agent.holdings unknown"},
       "/run/galen/agent.sock: nobody listens",
       [](Observations& s) {
         s.agent.status = Unavailable("nobody listens");
         s.agent.drivers = Unavailable("nobody listens");
       }},
      {{"agent.role bad"},
       "calls this node node-8, it is node-7",
       [](Observations& s) { s.agent.status->node = "node-8"; }},
      {{"agent.role bad"},
       "is a manager, and kubelet 321 runs here",
       [](Observations& s) { s.agent.status->role = "manager"; }},
      {{"agent.troubles bad"},
       "watch pods: forbidden",
       [](Observations& s) { s.agent.status->troubles = {"watch pods: forbidden"}; }},
      {{"agent.drivers bad"},
       "gpu.example.com: is unknown to the agent",
       [](Observations& s) { s.agent.drivers->clear(); }},
      {{"agent.drivers bad"},
       "gpu.example.com: is not connected",
       [](Observations& s) { (*s.agent.drivers)[0].connected = false; }},
      {{"agent.drivers bad"},
       "gpu.example.com: the stream ended",
       [](Observations& s) { (*s.agent.drivers)[0].trouble = "the stream ended"; }},
      {{"agent.holdings warning"},
       "default/a: the kubelet has gpu-1 for claim a-gpu",
       [](Observations& s) {
         s.agent.status->holding_differences = {"default/a: the kubelet has gpu-1 for claim a-gpu"};
       }},
      {{"agent.open-files warning"},
       "it may open 256 files",
       [](Observations& s) { s.agent.open_files = std::optional<std::int64_t>(256); }},
      {{"agent.journal warning"},
       "00000001.segment.corrupt-1",
       [](Observations& s) { s.agent.journal->quarantined = {"00000001.segment.corrupt-1"}; }},
      {{"agent.permissions bad"},
       "service account galen-system/galen-agent may not: patch pods/status",
       [](Observations& s) { s.api.access[1].allowed = false; }},
      {{"agent.definition bad"},
       "does not know galen.dev/v1alpha1",
       [](Observations& s) { s.api.health_served = NotFound("no such page"); }},
      {{"agent.object bad"},
       "there is no NodeDeviceHealth node-7",
       [](Observations& s) { s.api.health = NotFound("nodedevicehealths \"node-7\" not found"); }},
      {{"agent.object bad"},
       "its Ready is False: AgentStopped",
       [](Observations& s) { s.api.health->ready = ConditionSeen{"False", "AgentStopped", ""}; }},
      {{"agent.object bad"},
       "no condition Ready",
       [](Observations& s) { s.api.health->ready.reset(); }},
  };
  return kFlaws;
}

TEST(AgentChecks, EachFindsWhatItIsFor) { ExpectEachIsFound(AgentFlaws(), AgentChecks()); }

TEST(AgentChecks, ASocketThatIsRootsSaysNothingOfTheAgent) {
  Observations seen = GoodObservations();
  seen.agent.status = PermissionDenied("permission denied");
  EXPECT_EQ(ResultOf(seen, "agent.running").level, Level::kUnknown);
}

TEST(AgentChecks, AManagerWhereNoKubeletRunsIsRight) {
  Observations seen = GoodObservations();
  seen.agent.status->role = "manager";
  seen.kubelet.process = NotFound("no kubelet");
  EXPECT_EQ(ResultOf(seen, "agent.role").level, Level::kGood);
}

TEST(AgentChecks, OneInstanceOfADriverThatIsConnectedIsEnough) {
  Observations seen = GoodObservations();
  AgentDriver old = (*seen.agent.drivers)[0];
  old.connected = false;
  seen.agent.drivers->push_back(old);
  EXPECT_EQ(ResultOf(seen, "agent.drivers").level, Level::kGood);
}

TEST(AgentChecks, HealthSourcesAreSaidBesideTheDrivers) {
  Observations seen = GoodObservations();
  const std::string drivers = ResultOf(seen, "agent.drivers").seen;
  seen.agent.health_sources = {"gpu.vendor.example", "nvidia.com/gpu"};
  EXPECT_EQ(ResultOf(seen, "agent.drivers").seen,
            drivers + ", and health sources for gpu.vendor.example, nvidia.com/gpu");
}

TEST(AgentChecks, RightsThatCouldNotBeAskedForAreUnknown) {
  Observations seen = GoodObservations();
  seen.api.access[1].allowed = PermissionDenied("subjectaccessreviews is forbidden");
  EXPECT_EQ(ResultOf(seen, "agent.permissions").level, Level::kUnknown);
  seen.api.access[0].allowed = false;
  EXPECT_EQ(ResultOf(seen, "agent.permissions").level, Level::kBad);
}

TEST(AgentChecks, WithoutTheKindItsObjectIsNotMissed) {
  Observations seen = GoodObservations();
  seen.api.health_served = NotFound("no such page");
  seen.api.health = NotFound("no such page");
  EXPECT_EQ(ResultOf(seen, "agent.object").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
