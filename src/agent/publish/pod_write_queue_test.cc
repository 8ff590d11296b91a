#include "agent/publish/pod_write_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PodWriteQueueTest : public ::testing::Test {
 protected:
  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  Random random_{1};
  std::vector<std::string> looks_;
  const ObjectKey a_{"default", "a"}, b_{"default", "b"};
  PodWriteQueue queue_{{loop_, random_, log_},
                       [this](const ObjectKey& pod, const PodWriteQueue::Done& done) {
                         looks_.push_back(pod.name);
                         done(OkStatus());
                       }};
};

TEST_F(PodWriteQueueTest, MarksMergeAndALaterLookIsNotIdle) {
  queue_.MarkDirty(a_);
  queue_.MarkDirty(a_);
  queue_.MarkLater(b_, 1s);
  loop_.Advance(10ms);
  EXPECT_THAT(looks_, ElementsAre("a"));
  EXPECT_FALSE(queue_.idle());
  loop_.Advance(1s);
  EXPECT_THAT(looks_, ElementsAre("a", "b"));
  EXPECT_TRUE(queue_.idle());
}

TEST_F(PodWriteQueueTest, FlushLooksAtOnceAndForgetNever) {
  queue_.MarkLater(a_, 1h);
  queue_.MarkLater(b_, 1h);
  queue_.Forget(b_);
  queue_.Flush();
  loop_.Advance(10ms);
  EXPECT_THAT(looks_, ElementsAre("a"));
  EXPECT_TRUE(queue_.idle());
}

TEST_F(PodWriteQueueTest, EachPodHasABurstThenOneWriteEachRefill) {
  for (int i = 0; i < PodWriteQueue::kBurst; ++i) EXPECT_EQ(queue_.TakeTurn(a_), 0ms);
  const Duration wait = queue_.TakeTurn(a_);
  EXPECT_GT(wait, 0ms);
  EXPECT_LE(wait, PodWriteQueue::kRefill + 1ms);
  EXPECT_EQ(queue_.TakeTurn(b_), 0ms);
  loop_.Advance(wait);
  EXPECT_EQ(queue_.TakeTurn(a_), 0ms);
}

TEST_F(PodWriteQueueTest, AServerThatIsAwayHoldsUpAllUntilItAnswers) {
  EXPECT_EQ(queue_.away(), 0ms);
  queue_.NoteReply(Unavailable("no connection"));
  EXPECT_GT(queue_.away(), 0ms);
  const Duration first = queue_.away();
  queue_.NoteReply(Unavailable("no connection"));
  EXPECT_EQ(queue_.away(), first) << "of many calls that fail together the first counts";
  loop_.Advance(first);
  EXPECT_EQ(queue_.away(), 0ms);
  queue_.NoteReply(Aborted("conflict"));
  EXPECT_EQ(queue_.away(), 0ms) << "who answers is there";
}

TEST_F(PodWriteQueueTest, ASecondOutageIsWaitedForAsShortlyAsTheFirst) {
  Duration longest{};
  for (int i = 0; i < 10; ++i) {
    queue_.NoteReply(Unavailable("no connection"));
    longest = std::max(longest, queue_.away());
    loop_.Advance(queue_.away());
  }
  queue_.NoteReply(OkStatus());
  queue_.NoteReply(Unavailable("no connection"));
  EXPECT_LT(queue_.away() * 4, longest);
}

TEST_F(PodWriteQueueTest, APodThatIsRefusedASecondTimeIsLoggedAgain) {
  for (int i = 0; i < 2; ++i) {
    queue_.Refused(a_, "refused", PermissionDenied("no right"));
    queue_.Refused(a_, "refused", PermissionDenied("no right"));
    queue_.NotRefused(a_);
    queue_.NotRefused(a_);
  }
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("no right"), HasSubstr("no Pod is refused any more"),
                                  HasSubstr("no right"), HasSubstr("no Pod is refused any more")));
}

TEST_F(PodWriteQueueTest, ARefusedPodIsTroubleUntilItIsTakenAndLookedAtAgain) {
  queue_.Refused(a_, "refused", PermissionDenied("pods \"a\" is forbidden"));
  queue_.Refused(b_, "refused", PermissionDenied("pods \"b\" is forbidden"));
  EXPECT_THAT(lines_, SizeIs(1)) << "one reason";
  EXPECT_THAT(queue_.trouble(), HasSubstr("default/a: "));
  EXPECT_THAT(queue_.trouble(), HasSubstr("and 1 Pod more"));
  loop_.Advance(PodWriteQueue::kRefusedAgain.first * 2);
  EXPECT_THAT(looks_, SizeIs(2));
  queue_.NotRefused(a_);
  queue_.NotRefused(b_);
  EXPECT_EQ(queue_.trouble(), "");
}

TEST_F(PodWriteQueueTest, APodThatIsGoneTakesItsTurnsWithIt) {
  for (int i = 0; i < PodWriteQueue::kBurst; ++i) queue_.TakeTurn(a_);
  ASSERT_GT(queue_.TakeTurn(a_), 0ms);
  queue_.Forget(a_);
  EXPECT_EQ(queue_.TakeTurn(a_), 0ms) << "the next of its name begins anew";
}

}  // namespace
}  // namespace galen::agent
