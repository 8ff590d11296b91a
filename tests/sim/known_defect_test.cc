// A known defect that shows only with the SDK, an agent and a cluster together.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// A kubelet that starts removes the slices of every driver it does not see yet.
TEST(KnownDefect, SlicesOfADriverThatIsAwayAreWiped) {
  SimWorld world(1);
  ASSERT_TRUE(world.Settle());
  const std::set<DeviceId> before = world.Offered("node-1");
  ASSERT_EQ(before.size(), 8u);
  const std::set<std::string> wiped = world.SliceUids("node-1");
  world.WipeSlices("node-1");
  world.Pass(2s);
  EXPECT_EQ(world.Offered("node-1"), before) << "the drivers saw it and made them again";
  for (const std::string& uid : world.SliceUids("node-1")) {
    EXPECT_FALSE(wiped.contains(uid)) << "this one was never away";
  }
  EXPECT_EQ(world.Offered("node-2").size(), 8u);
}

}  // namespace
}  // namespace galen::sim
