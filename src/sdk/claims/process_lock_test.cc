#include "sdk/claims/process_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;

class ProcessLockTest : public ::testing::Test {
 protected:
  using Answer = std::optional<StatusOr<ProcessLock::Hold>>;
  static std::function<void(StatusOr<ProcessLock::Hold>)> Into(Answer& answer) {
    return [&answer](StatusOr<ProcessLock::Hold> hold) { answer = std::move(hold); };
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  ProcessLock ours_{loop_, files_, "/d/serialize.lock"};
  ProcessLock theirs_{loop_, files_, "/d/serialize.lock"};
};

TEST_F(ProcessLockTest, IsSharedByWhatOneProcessDoesAndGoesWithTheLastOfIt) {
  Answer first, second, other;
  ours_.Take(Into(first));
  ours_.Take(Into(second));
  ASSERT_TRUE(first && first->ok() && second && second->ok()) << "at once";
  theirs_.Take(Into(other));
  first.reset();
  loop_.Advance(1s);
  EXPECT_FALSE(other);
  second.reset();
  loop_.Advance(ProcessLock::kRetry);
  ASSERT_TRUE(other && other->ok());
}

TEST_F(ProcessLockTest, ACopyHoldsItTooAndOneThatIsReplacedDoesNot) {
  Answer first, copy, other;
  ours_.Take(Into(first));
  copy = first;
  first = StatusOr<ProcessLock::Hold>(Unavailable("done"));
  theirs_.Take(Into(other));
  loop_.Advance(1s);
  EXPECT_FALSE(other) << "the copy is left";
  copy = first;
  loop_.Advance(ProcessLock::kRetry);
  EXPECT_TRUE(other && other->ok());
}

TEST_F(ProcessLockTest, AHoldThatOutlivesItsLockHoldsNothing) {
  Answer late, other;
  {
    ProcessLock going(loop_, files_, "/d/serialize.lock");
    going.Take(Into(late));
  }
  ASSERT_TRUE(late && late->ok());
  theirs_.Take(Into(other));
  EXPECT_TRUE(other && other->ok()) << "at once";
  const Answer copy = late;
  late.reset();
  EXPECT_TRUE(copy->ok()) << "and may be copied and dropped";
}

TEST_F(ProcessLockTest, AllThatWaitGetItTogether) {
  Answer held, a, b;
  theirs_.Take(Into(held));
  ours_.Take(Into(a));
  loop_.Advance(5ms);
  ours_.Take(Into(b));
  held.reset();
  loop_.Advance(ProcessLock::kRetry);
  EXPECT_TRUE(a && a->ok() && b && b->ok());
}

TEST_F(ProcessLockTest, EachWaitsItsOwnPatienceAndTheRestGoesOnWaiting) {
  Answer held, early, late;
  theirs_.Take(Into(held));
  ours_.Take(Into(early));
  loop_.Advance(10s);
  ours_.Take(Into(late));
  loop_.Advance(ProcessLock::kPatience - 10s);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->status().code(), Code::kUnavailable);
  EXPECT_FALSE(late);
  held.reset();
  loop_.Advance(ProcessLock::kRetry);
  EXPECT_TRUE(late && late->ok());
}

TEST_F(ProcessLockTest, AFileThatCannotBeMadeIsAnError) {
  Answer answer;
  files_.FailWrites(PermissionDenied("read-only"));
  ours_.Take(Into(answer));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status().code(), Code::kPermissionDenied);
}

TEST_F(ProcessLockTest, NobodyIsAnsweredOnceItIsGone) {
  Answer held, answer;
  theirs_.Take(Into(held));
  {
    ProcessLock going(loop_, files_, "/d/serialize.lock");
    going.Take(Into(answer));
  }
  loop_.Advance(1min);
  EXPECT_FALSE(answer);
}

}  // namespace
}  // namespace galen::sdk
