// What every Loop promises: one suite, run on the real loop and on the fake one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/loop/epoll_loop.h"
#include "base/loop/fake_loop.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct RealTime {
  void Pass(Duration d) {
    const Timer end = loop->After(d, [this] { loop->Stop(); });
    loop->Run();
  }
  std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
};

struct FakeTime {
  void Pass(Duration d) { loop->Advance(d); }
  std::unique_ptr<FakeLoop> loop = std::make_unique<FakeLoop>();
};

template <typename Kind>
class LoopContract : public testing::Test {
 protected:
  Loop& loop() { return *kind_.loop; }
  // Runs what is due within it; a machine that is slow runs more.
  void Pass(Duration d) { kind_.Pass(d); }
  void EndLoop() { kind_.loop.reset(); }
  Task Note(const std::string& name) {
    return [this, name] { seen_.push_back(name); };
  }

  std::vector<std::string> seen_;

 private:
  Kind kind_;
};

using Kinds = testing::Types<RealTime, FakeTime>;
TYPED_TEST_SUITE(LoopContract, Kinds);

TYPED_TEST(LoopContract, WhatIsPostedRunsInOrderAndNeverInsideTheCall) {
  this->loop().Post([&] {
    this->loop().Post(this->Note("third"));
    this->seen_.push_back("first");
  });
  this->loop().Post(this->Note("second"));
  EXPECT_THAT(this->seen_, IsEmpty());
  this->Pass(2ms);
  EXPECT_THAT(this->seen_, ElementsAre("first", "second", "third"));
}

TYPED_TEST(LoopContract, TimersRunInOrderOfTimeAndThenOfAsking) {
  const Time now = this->loop().Now();
  const Timer late = this->loop().At(now + 3ms, this->Note("late"));
  const Timer early = this->loop().At(now + 1ms, this->Note("early"));
  const Timer behind = this->loop().At(now + 1ms, this->Note("behind"));
  this->Pass(6ms);
  EXPECT_THAT(this->seen_, ElementsAre("early", "behind", "late"));
}

TYPED_TEST(LoopContract, ATimeInThePastMeansNowAndNotInsideTheCall) {
  const Timer past = this->loop().At(this->loop().Now() - 1h, this->Note("past"));
  EXPECT_THAT(this->seen_, IsEmpty());
  this->Pass(2ms);
  EXPECT_THAT(this->seen_, ElementsAre("past"));
}

TYPED_TEST(LoopContract, TheLastTimeOfAllNeverComes) {
  const Timer never = this->loop().At(Time::max(), this->Note("never"));
  this->Pass(2ms);
  EXPECT_THAT(this->seen_, IsEmpty());
}

TYPED_TEST(LoopContract, ATimerThatIsCancelledDroppedOrReplacedDoesNotRun) {
  Timer cancelled = this->loop().After(1ms, this->Note("cancelled"));
  Timer replaced = this->loop().After(1ms, this->Note("replaced"));
  {
    const Timer dropped = this->loop().After(1ms, this->Note("dropped"));
  }
  cancelled.Cancel();
  replaced = this->loop().After(1ms, this->Note("replacement"));
  this->Pass(4ms);
  EXPECT_THAT(this->seen_, ElementsAre("replacement"));
}

TYPED_TEST(LoopContract, ATaskMayDestroyItsOwnTimerAndOneThatIsDueWithIt) {
  Timer own, other;
  const Time soon = this->loop().Now() + 1ms;
  own = this->loop().At(soon, [&] {
    own = Timer();
    other = Timer();
    this->seen_.push_back("own");
  });
  other = this->loop().At(soon, this->Note("other"));
  this->Pass(4ms);
  EXPECT_THAT(this->seen_, ElementsAre("own"));
}

TYPED_TEST(LoopContract, TimeMovesForwardBetweenTasks) {
  const Time before = this->loop().Now();
  Time at_task{};
  const Timer timer = this->loop().After(2ms, [&] { at_task = this->loop().Now(); });
  this->Pass(4ms);
  EXPECT_GE(at_task, before + 2ms);
  EXPECT_GE(this->loop().Now(), at_task);
}

TYPED_TEST(LoopContract, WhatWaitsDiesWithTheLoopAndIsNotRun) {
  const auto owned = std::make_shared<int>(1);
  this->loop().Post([this, owned] { this->seen_.push_back("posted"); });
  this->EndLoop();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_THAT(this->seen_, IsEmpty());
}

}  // namespace
}  // namespace galen
