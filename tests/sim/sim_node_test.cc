#include "tests/sim/sim_node.h"

#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

class OneNode : public testing::Test {
 protected:
  OneNode() { EXPECT_TRUE(world.Settle()); }

  // An operation of the disk, as one of the agent's.
  void UseDisk() { static_cast<void>(node.disk().MakeDirectory("/used", 0700)); }

  SimWorld world{1};
  SimNode& node = *world.nodes().front();
};

// The loop has not come to its death yet when it is brought back.
TEST_F(OneNode, AnAgentThatHasJustDoneItsLastOperationIsReplaced) {
  const int starts = node.agent_starts();
  node.KillAgentAtWrite(0, false);
  UseDisk();
  node.BringAgentBack();
  world.Pass(1s);
  EXPECT_NE(node.agent(), nullptr);
  EXPECT_EQ(node.agent_starts(), starts + 1);
}

TEST_F(OneNode, AnAgentThatIsBroughtBackBeforeItsLastOperationLives) {
  const int starts = node.agent_starts();
  node.KillAgentAtWrite(0, false);
  node.BringAgentBack();
  UseDisk();
  world.Pass(1s);
  EXPECT_NE(node.agent(), nullptr);
  EXPECT_EQ(node.agent_starts(), starts);
}

TEST_F(OneNode, ADiskThatFailedIsDoubtedForTimeThatTheMachineIsAwake) {
  node.DoubtDisk();
  node.Suspend();
  world.Pass(10min);
  node.WakeUp();
  EXPECT_TRUE(node.disk_doubtful());
  world.Pass(41s);
  EXPECT_FALSE(node.disk_doubtful());
}

}  // namespace
}  // namespace galen::sim
