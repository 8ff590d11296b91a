#include "base/loop/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/loop/fake_loop.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using Queue = WorkQueue<std::string>;

// A queue whose looks end when the test says so.
class WorkQueueTest : public testing::Test {
 protected:
  struct Look {
    std::string key;
    Time when;
    Queue::Done done;
  };

  void Make(Queue::Options options = {.backoff = {.first = 1s, .most = 8s}}) {
    queue_ = std::make_unique<Queue>(loop_, random_, options,
                                     [this](const std::string& key, Queue::Done done) {
                                       looks_.push_back({key, loop_.Now(), std::move(done)});
                                     });
  }
  // The keys looked at since the last call, in order.
  std::string Looked() {
    loop_.RunUntilIdle();
    std::string keys;
    for (; seen_ < looks_.size(); ++seen_) keys += looks_[seen_].key;
    return keys;
  }
  void End(std::size_t look, const Status& status = OkStatus()) {
    looks_.at(look).done(status);
    loop_.RunUntilIdle();
  }

  FakeLoop loop_;
  Random random_{1};
  std::vector<Look> looks_;
  std::size_t seen_ = 0;
  std::unique_ptr<Queue> queue_;
};

TEST_F(WorkQueueTest, MarksOfOneKeyMerge) {
  Make();
  for (int i = 0; i < 10; ++i) queue_->MarkDirty("a");
  queue_->MarkDirty("b");
  EXPECT_EQ(queue_->depth(), 2u);
  EXPECT_EQ(Looked(), "ab");
  End(0);
  End(1);
  EXPECT_TRUE(queue_->idle());
}

TEST_F(WorkQueueTest, KeyMarkedWhileLookedAtIsLookedAtAgainAfterwardsAndNeverTwiceAtOnce) {
  Make();
  queue_->MarkDirty("a");
  EXPECT_EQ(Looked(), "a");
  queue_->MarkDirty("a");
  queue_->MarkDirty("a");
  EXPECT_EQ(Looked(), "");
  End(0);
  EXPECT_EQ(Looked(), "a");
  End(1);
  EXPECT_EQ(Looked(), "");
  EXPECT_TRUE(queue_->idle());
}

TEST_F(WorkQueueTest, FailedLookIsRepeatedWithGrowingDelays) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  for (std::size_t i = 0; i < 6; ++i) {
    End(i, Unavailable("api is away"));
    loop_.Advance(8s);
    ASSERT_EQ(looks_.size(), i + 2);
  }
  const auto gap = [&](std::size_t i) { return looks_[i + 1].when - looks_[i].when; };
  EXPECT_LE(gap(0), 1s);
  EXPECT_GE(gap(5) + 8s, 4s);
  EXPECT_EQ(queue_->depth(), 1u);
}

TEST_F(WorkQueueTest, MarksDoNotShortenTheDelayAfterAFailure) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  queue_->MarkDirty("a");
  End(0, Unavailable("api is away"));
  for (int i = 0; i < 100; ++i) queue_->MarkDirty("a");
  loop_.Advance(499ms);
  EXPECT_EQ(looks_.size(), 1u);
  loop_.Advance(501ms);
  EXPECT_EQ(looks_.size(), 2u);
}

TEST_F(WorkQueueTest, SuccessForgetsEarlierFailures) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  for (std::size_t i = 0; i < 3; ++i) {
    End(i, Unavailable("x"));
    loop_.Advance(8s);
  }
  End(3);
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  ASSERT_EQ(looks_.size(), 5u);
  End(4, Unavailable("x"));
  loop_.Advance(1s);
  EXPECT_EQ(looks_.size(), 6u);
}

TEST_F(WorkQueueTest, FailureThatTimeCannotMendIsNotRepeated) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  End(0, InvalidArgument("broken"));
  loop_.Advance(1h);
  EXPECT_EQ(looks_.size(), 1u);
  EXPECT_TRUE(queue_->idle());
}

TEST_F(WorkQueueTest, LooksAtTheTimeAskedForOrEarlier) {
  Make();
  const Time start = loop_.Now();
  queue_->MarkDirtyAt("a", start + 10s);
  queue_->MarkDirtyAt("a", start + 20s);
  queue_->MarkDirtyAt("b", start + 20s);
  queue_->MarkDirtyAt("b", start + 5s);
  loop_.Advance(30s);
  ASSERT_EQ(looks_.size(), 2u);
  EXPECT_EQ(looks_[0].key, "b");
  EXPECT_EQ(looks_[0].when, start + 5s);
  EXPECT_EQ(looks_[1].when, start + 10s);
}

TEST_F(WorkQueueTest, WorkerThatAsksForALaterLookGetsItThenAndNotAtOnce) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  const Time later = loop_.Now() + 30s;
  queue_->MarkDirtyAt("a", later);
  End(0);
  EXPECT_EQ(looks_.size(), 1u);
  loop_.Advance(30s);
  ASSERT_EQ(looks_.size(), 2u);
  EXPECT_EQ(looks_[1].when, later);
}

TEST_F(WorkQueueTest, NeverIsNotATime) {
  Make();
  queue_->MarkDirtyAt("a", Time::max());
  EXPECT_TRUE(queue_->idle());
}

TEST_F(WorkQueueTest, AtMostSoManyLooksAtOnceAndFirstMarkedFirstLookedAt) {
  Make({.backoff = {}, .at_once_max = 2});
  for (const char* key : {"a", "b", "c", "d"}) queue_->MarkDirty(key);
  EXPECT_EQ(Looked(), "ab");
  queue_->MarkDirty("a");
  End(0);
  EXPECT_EQ(Looked(), "c");
  End(1);
  EXPECT_EQ(Looked(), "d");
  End(2);
  EXPECT_EQ(Looked(), "a");
}

TEST_F(WorkQueueTest, KeyThatIsAlwaysDirtyStarvesNobody) {
  std::string order;
  Queue* self = nullptr;
  Queue queue(loop_, random_, {.backoff = {}, .at_once_max = 1},
              [&](const std::string& key, const Queue::Done& done) {
                order += key;
                if (key == "x" && order.size() < 20) self->MarkDirty(key);
                done(OkStatus());
              });
  self = &queue;
  for (const char* key : {"x", "a", "b"}) queue.MarkDirty(key);
  loop_.RunUntilIdle();
  EXPECT_LT(order.find('a'), 4u) << order;
  EXPECT_LT(order.find('b'), 4u) << order;
}

TEST_F(WorkQueueTest, DoneAfterTheQueueIsGoneDoesNothing) {
  Make();
  queue_->MarkDirty("a");
  queue_->MarkDirtyAt("b", loop_.Now() + 1s);
  loop_.RunUntilIdle();
  queue_.reset();
  End(0, Unavailable("late"));
  loop_.Advance(1h);
  EXPECT_EQ(looks_.size(), 1u);
}

TEST_F(WorkQueueTest, QueueMayGoBetweenDoneAndItsEffect) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  looks_[0].done(OkStatus());
  queue_.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(looks_.size(), 1u);
}

TEST_F(WorkQueueTest, NoMarkIsLostInARandomRun) {
  constexpr std::uint64_t kSeed = 4711;
  Random dice(kSeed);
  std::map<std::string, int> written;  // how often the world changed
  std::map<std::string, int> seen;     // what the worker saw last
  std::map<std::string, int> running;
  Queue queue(loop_, random_, {.backoff = {.first = 10ms, .most = 100ms}, .at_once_max = 3},
              [&](const std::string& key, const Queue::Done& done) {
                EXPECT_EQ(++running[key], 1) << "seed " << kSeed;
                const int now = written[key];
                loop_.Post([&, key, done, now, fails = dice.Chance(0.3)] {
                  --running[key];
                  if (!fails) seen[key] = now;
                  done(fails ? Aborted("conflict") : OkStatus());
                });
              });
  for (int i = 0; i < 5000; ++i) {
    const std::string key(1, static_cast<char>('a' + dice.Below(8)));
    ++written[key];
    queue.MarkDirty(key);
    if (dice.Chance(0.2)) loop_.Advance(std::chrono::milliseconds(dice.Below(50)));
  }
  loop_.Advance(1min);
  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(seen, written) << "seed " << kSeed;
}

using WorkQueueDeathTest = WorkQueueTest;

TEST_F(WorkQueueDeathTest, DoneCalledTwiceIsOurBug) {
  Make();
  queue_->MarkDirty("a");
  loop_.RunUntilIdle();
  End(0);
  EXPECT_DEATH(End(0), "kRunning");
}

}  // namespace
}  // namespace galen
