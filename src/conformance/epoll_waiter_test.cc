#include <gtest/gtest.h>

#include "conformance/waiter.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;

class EpollWaiterTest : public ::testing::Test {
 protected:
  std::unique_ptr<EpollLoop> loop_ = std::move(*EpollLoop::Create());
  EpollWaiter waiter_{*loop_};
};

TEST_F(EpollWaiterTest, ReturnsWhenItHolds) {
  bool called = false;
  const Timer timer = loop_->After(1ms, [&] {
    called = true;
    waiter_.Wake();
  });
  EXPECT_TRUE(waiter_.WaitUntil([&] { return called; }, 10s));
}

TEST_F(EpollWaiterTest, GivesUpAtItsLimit) {
  const Time start = loop_->Now();
  EXPECT_FALSE(waiter_.WaitUntil([] { return false; }, 5ms));
  EXPECT_GE(loop_->Now() - start, 5ms);
}

TEST_F(EpollWaiterTest, InterruptedItWaitsForNothingUntilThingsArePutAway) {
  const Timer timer = loop_->After(1ms, [&] { waiter_.Interrupt(); });
  EXPECT_FALSE(waiter_.WaitUntil([] { return false; }, 1h));
  EXPECT_FALSE(waiter_.WaitUntil([] { return false; }, 1h));
  EXPECT_TRUE(waiter_.interrupted());
  waiter_.StartPuttingAway();
  bool called = false;
  const Timer later = loop_->After(1ms, [&] {
    called = true;
    waiter_.Wake();
  });
  EXPECT_TRUE(waiter_.WaitUntil([&] { return called; }, 10s));
}

}  // namespace
}  // namespace galen::conformance
