// Stories of an agent that breaks, with real processes: no state is lost, nothing is published
// twice, and what happened while it was away is published with the time at which it happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class AgentFault : public ::testing::Test {
 protected:
  FaultStage node_;
};

TEST_F(AgentFault, KilledWithNineReportsAfterwardsWhatHappenedMeanwhileAndWhen) {
  ASSERT_TRUE(node_.Up());
  node_.End(node_.agent(), SIGKILL);
  const std::string lost = node_.LoseGpu();
  EXPECT_EQ(node_.LineOf(kTrainer), "gpu-0 Healthy") << "nobody is there to publish";
  node_.ExpectDoctor({"BAD       agent.running", "agent.sock: Connection refused"});

  node_.StartAgent();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since " + lost.substr(0, 19) + "Z",
                              "XID 79: GPU has fallen off the bus"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "False XidGpuLost");
  EXPECT_EQ(node_.HealthOf(kTrainer), "Unhealthy");
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  node_.ExpectWhy(kTrainer, {"agent-started", "sign", "simulator: xid 79",
                             "Healthy → Unhealthy, XidGpuLost", "published"});
  node_.ExpectBystanderUntouched();
}

// A cleaner of /run, or a hand: nobody could ask it any more until it was started anew.
TEST_F(AgentFault, WhoseSocketIsRemovedMakesItAgainAndAnswers) {
  ASSERT_TRUE(node_.Up());
  ASSERT_TRUE(std::filesystem::remove(node_.Path("agent.sock")));
  EXPECT_TRUE(node_.stage().Until([&] { return node_.stage().HasFile("agent.sock"); }));
  node_.LoseGpu();
  node_.ExpectWhy(kTrainer, {"Healthy → Unhealthy, XidGpuLost", "published"});
  node_.ExpectBystanderUntouched();
}

// A debugger, a frozen cgroup, a node that swaps: the drivers reported all the while.
TEST_F(AgentFault, StoppedPastEveryDeadlineTakesNobodyForSilentWhenItGoesOn) {
  node_.Configure("timeouts: [{driver: gpu.example.com, timeout: 2s}]\n");
  node_.DriverFlags({"--health-timeout", "1s"});
  ASSERT_TRUE(node_.Up());
  node_.Pause(node_.agent());
  const std::string lost = node_.LoseGpu();
  node_.Let(std::chrono::seconds(4));
  // `galen` does not hang with it, and says where its answer comes from instead.
  const Outcome why = node_.Galen({"why", "default/trainer-0"});
  EXPECT_THAT(why.output, HasSubstr("gpu-0   Healthy"));
  EXPECT_THAT(why.output, HasSubstr("The agent was not asked: the agent behind " +
                                    node_.Path("agent.sock") + " does not answer"));

  node_.Resume(node_.agent());
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  EXPECT_THAT(node_.Steps(kTrainer, "change"),
              ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost"));
  node_.ExpectBystanderUntouched();
}

TEST_F(AgentFault, UpdatedIsFollowedByOneThatSaysTheSameSinceTheSameTimes) {
  ASSERT_TRUE(node_.Up());
  const std::string lost = node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since "});
  const std::string line = node_.LineOf(kTrainer);
  const auto changes = node_.Steps(kTrainer, "change");
  const auto published = node_.Steps(kTrainer, "published");

  // The new one comes while the old one still runs, and is started again as a DaemonSet does it.
  Program& old = node_.agent();
  Program& early = node_.StartAgent();
  ASSERT_TRUE(node_.stage().Until([&] { return !early.running(); }));
  EXPECT_EQ(early.exit_code(), 1);
  EXPECT_THAT(early.Log(), HasSubstr(fmt::format("another agent, process {}, holds ", old.pid())));
  EXPECT_THAT(early.Log(), HasSubstr("stop it first"));
  node_.End(old, SIGTERM);
  EXPECT_EQ(old.exit_code(), 0);
  EXPECT_EQ(node_.LineOf(kTrainer), line) << "an agent that goes leaves what it published";
  EXPECT_THAT(node_.Galen({"get", "devices"}).output, HasSubstr("AgentStopped"));

  node_.StartAgent();
  node_.ExpectWhy(kTrainer, {"agent-stopped", "agent-started", "gpu-0   Unhealthy since "});
  EXPECT_TRUE(node_.stage().Until([&] {
    return node_.Galen({"get", "devices"}).output.find("AgentStopped") == std::string::npos;
  }));
  EXPECT_EQ(node_.LineOf(kTrainer), line);
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  EXPECT_EQ(node_.Steps(kTrainer, "change"), changes);
  EXPECT_EQ(node_.Steps(kTrainer, "published"), published) << "nothing is published twice";
  node_.ExpectBystanderUntouched();
}

TEST_F(AgentFault, SecondOneOfANodeIsRefusedAlsoWithItsOwnDirectoryAndTheFirstGoesOn) {
  ASSERT_TRUE(node_.Up());
  Program& first = node_.agent();
  Program& second = node_.StartAgent(
      {"--state-dir", node_.Path("another"), "--socket", node_.Path("another.sock")});
  ASSERT_TRUE(node_.stage().Until([&] { return !second.running(); }));
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_THAT(second.Log(), HasSubstr("another agent of this node listens to " +
                                      node_.Path("kubelet/plugins_registry")));
  ASSERT_TRUE(first.running());
  const std::string lost = node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since "});
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  node_.ExpectBystanderUntouched();
}

TEST_F(AgentFault, OutOfDescriptorsKeepsWhatItHasAndConnectsOnceThereAreSome) {
  ASSERT_TRUE(node_.Up());
  const pid_t pid = node_.agent().pid();
  struct rlimit usual{};
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &usual), 0);
  // No new one, whatever is closed: a new descriptor's number must be below the limit.
  const struct rlimit none{.rlim_cur = 3, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &none, nullptr), 0);
  node_.End(node_.driver(), SIGKILL);
  node_.ExpectSays(kTrainer, {"gpu-0 Unknown since ", "driver gpu.example.com is gone: "});
  node_.StartDriver();
  EXPECT_TRUE(node_.stage().Until(
      [&] { return node_.driver().Log().find("driver is running") != std::string::npos; }));
  node_.ExpectDoctor({"agent.open-files"});
  EXPECT_THAT(node_.LineOf(kTrainer), HasSubstr("gpu-0 Unknown since "));
  EXPECT_EQ(node_.LineOf(kBystander), "gpu-0 Healthy");

  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &usual, nullptr), 0);
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  node_.ExpectWhy(kTrainer, {"driver-lost", "driver-connected", "Unknown → Healthy"});
  node_.ExpectBystanderUntouched();
}

}  // namespace
}  // namespace galen::e2e
