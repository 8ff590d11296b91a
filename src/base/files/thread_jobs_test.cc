#include "base/files/thread_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/loop/fake_loop.h"

namespace galen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Work() is called by the test itself: what it does does not depend on the thread.
class ThreadJobsTest : public ::testing::Test {
 protected:
  void Give(const std::string& name) {
    jobs_.Give([this, name] { seen_.push_back("work " + name); },
               [this, name] { seen_.push_back("done " + name); });
  }

  FakeLoop loop_;
  ThreadJobs jobs_{loop_};
  std::vector<std::string> seen_;
};

TEST_F(ThreadJobsTest, AreDoneInOrderAndToldToTheLoop) {
  Give("a");
  Give("b");
  EXPECT_FALSE(jobs_.idle());
  jobs_.Finish();
  jobs_.Work();
  EXPECT_THAT(seen_, ElementsAre("work a", "work b"));
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("work a", "work b", "done a", "done b"));
}

TEST_F(ThreadJobsTest, AreIdleOnceAllWorkIsDone) {
  EXPECT_TRUE(jobs_.idle());
  bool idle_at_work = true;
  jobs_.Give([&] { idle_at_work = jobs_.idle(); }, [&] { EXPECT_TRUE(jobs_.idle()); });
  jobs_.Give([&] { jobs_.Abandon(); }, [] {});
  jobs_.Work();
  EXPECT_FALSE(idle_at_work);
  EXPECT_TRUE(jobs_.idle());
}

TEST_F(ThreadJobsTest, ThatNobodyWaitsForAreNotBegun) {
  Give("a");
  jobs_.Abandon();
  jobs_.Work();
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(ThreadJobsTest, ThatAreUnderWayWhenNobodyWaitsAnyMoreTellNobody) {
  jobs_.Give(
      [this] {
        seen_.emplace_back("work");
        jobs_.Abandon();
      },
      [this] { seen_.emplace_back("done"); });
  Give("next");
  jobs_.Work();
  loop_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre("work"));
}

}  // namespace
}  // namespace galen
