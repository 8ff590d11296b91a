#include "base/loop/epoll_loop.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace galen {
namespace {

using namespace std::chrono_literals;

class EpollLoopTest : public testing::Test {
 protected:
  EpollLoopTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
  }
  void Send(const Fd& fd) { EXPECT_EQ(::write(fd.get(), "x", 1), 1); }
  void Receive(const Fd& fd) {
    char byte = 0;
    EXPECT_EQ(::read(fd.get(), &byte, 1), 1);
  }
  // Runs what is ready now, and no more.
  void RunTurns(int turns) {
    std::function<void()> next = [&] {
      if (--turns <= 0) return loop_->Stop();
      loop_->Post([&] { next(); });
    };
    loop_->Post([&] { next(); });
    loop_->Run();
  }

  const std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
  Fd ours_;
  Fd theirs_;
};

TEST_F(EpollLoopTest, KnowsHowLongItWasInItsLongestTask) {
  Duration took{};
  loop_->Post([&] {
    const Time began = loop_->Now();
    while (loop_->Now() - began < 21ms) {
    }
    took = loop_->Now() - began;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_GE(loop_->steps().longest, took);
  EXPECT_EQ(loop_->steps().long_ones, 1u);
}

TEST_F(EpollLoopTest, RunsPostedTasksInOrder) {
  std::string order;
  loop_->Post([&] { order += "a"; });
  loop_->Post([&] {
    order += "b";
    loop_->Post([&] {
      order += "d";
      loop_->Stop();
    });
  });
  loop_->Post([&] { order += "c"; });
  loop_->Run();
  EXPECT_EQ(order, "abcd");
}

TEST_F(EpollLoopTest, TimersRunInOrderOfTimeAndNeverEarly) {
  std::string order;
  const Time start = loop_->Now();
  const Timer late = loop_->At(start + 4ms, [&] {
    order += "b";
    EXPECT_GE(loop_->Now(), start + 4ms);
    loop_->Stop();
  });
  const Timer early = loop_->At(start + 2ms, [&] {
    order += "a";
    EXPECT_GE(loop_->Now(), start + 2ms);
  });
  loop_->Run();
  EXPECT_EQ(order, "ab");
}

// As a process that was stopped, or got no processor: what came in time is read before a timer says
// that it did not come.
TEST_F(EpollLoopTest, WhatCameBeforeATimerIsReadBeforeItEvenIfTheLoopIsLate) {
  std::string order;
  Send(theirs_);
  const Time due = loop_->Now() + 2ms;
  const Timer deadline = loop_->At(due, [&] {
    order += "timer";
    loop_->Stop();
  });
  const FdWatch watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&](Readiness) {
    Receive(ours_);
    order += "read ";
  });
  loop_->Post([&] {
    while (loop_->Now() <= due) {
    }
  });
  loop_->Run();
  EXPECT_EQ(order, "read timer");
}

TEST_F(EpollLoopTest, CancelledTimerDoesNotRun) {
  bool ran = false;
  Timer cancelled = loop_->After(1ms, [&] { ran = true; });
  cancelled.Cancel();
  const Timer end = loop_->After(3ms, [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_FALSE(ran);
}

TEST_F(EpollLoopTest, TimerMayCancelItselfAndOneThatIsDueWithIt) {
  Timer own;
  Timer other;
  bool ran = false;
  const Time when = loop_->Now() + 1ms;
  own = loop_->At(when, [&] {
    own.Cancel();
    other.Cancel();
  });
  other = loop_->At(when, [&] { ran = true; });
  const Timer end = loop_->At(when + 1ms, [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_FALSE(ran);
}

TEST_F(EpollLoopTest, TimerThatAsksForNowAgainStarvesNobody) {
  Timer timer;
  std::function<void()> again = [&] { timer = loop_->At(loop_->Now(), [&] { again(); }); };
  again();
  Send(theirs_);
  bool served = false;
  const FdWatch watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&](Readiness) {
    served = true;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(served);
}

TEST_F(EpollLoopTest, PostFromAnotherThreadWakesASleepingLoop) {
  std::thread::id ran_on;
  std::thread other;
  const Timer sleeping = loop_->After(1ms, [&] {
    other = std::thread([&] {
      loop_->Post([&] {
        ran_on = std::this_thread::get_id();
        loop_->Stop();
      });
    });
  });
  loop_->Run();
  other.join();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST_F(EpollLoopTest, NothingPostedByManyThreadsIsLost) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 5000;
  int ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTasks; ++i) {
        loop_->Post([&] {
          if (++ran == kThreads * kTasks) loop_->Stop();
        });
      }
    });
  }
  loop_->Run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, kThreads * kTasks);
}

TEST_F(EpollLoopTest, StopFromAnotherThreadEndsASleepingLoop) {
  bool woke_by_itself = false;
  const Timer far = loop_->After(30s, [&] {
    woke_by_itself = true;
    loop_->Stop();
  });
  std::thread other([&] { loop_->Stop(); });
  loop_->Run();
  other.join();
  EXPECT_FALSE(woke_by_itself);
}

TEST_F(EpollLoopTest, StopLeavesTheRestForTheNextRun) {
  std::string order;
  loop_->Post([&] {
    order += "a";
    loop_->Stop();
  });
  loop_->Post([&] {
    order += "b";
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_EQ(order, "a");
  loop_->Run();
  EXPECT_EQ(order, "ab");
}

TEST_F(EpollLoopTest, ReportsWhatADescriptorIsReadyFor) {
  std::vector<Readiness> seen;
  FdWatch watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&](Readiness ready) {
    seen.push_back(ready);
    Receive(ours_);
    watch.SetInterest({.readable = true, .writable = true});
    if (seen.size() == 2) loop_->Stop();
  });
  RunTurns(3);
  EXPECT_TRUE(seen.empty());
  Send(theirs_);
  Send(theirs_);
  loop_->Run();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], (Readiness{.readable = true}));
  EXPECT_EQ(seen[1], (Readiness{.readable = true, .writable = true}));
}

TEST_F(EpollLoopTest, CallsAgainWhileSomethingIsLeft) {
  int calls = 0;
  const FdWatch watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&](Readiness) {
    if (++calls == 3) loop_->Stop();
  });
  Send(theirs_);
  loop_->Run();
  EXPECT_EQ(calls, 3);
}

TEST_F(EpollLoopTest, HangUpIsReportedEvenToOneWhoAskedForNothing) {
  Readiness seen;
  FdWatch watch = loop_->WatchFd(ours_.get(), {}, [&](Readiness ready) {
    seen = ready;
    watch.Cancel();
    loop_->Stop();
  });
  Send(theirs_);
  RunTurns(3);
  EXPECT_EQ(seen, Readiness{});
  theirs_.Reset();
  loop_->Run();
  EXPECT_EQ(seen, (Readiness{.hung_up = true}));
}

TEST_F(EpollLoopTest, CallbackMayEndItsOwnWatchAndGoOnUsingItsCaptures) {
  FdWatch watch;
  const std::string captured = "a text too long to be kept without an allocation of its own";
  std::string seen;
  watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&, captured](Readiness) {
    watch.Cancel();
    seen = captured;
  });
  Send(theirs_);
  RunTurns(5);
  EXPECT_EQ(seen, captured);
}

TEST_F(EpollLoopTest, CallbackMayReplaceItsOwnWatch) {
  FdWatch watch;
  std::string order;
  watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&](Readiness) {
    order += "a";
    watch.Cancel();
    watch = loop_->WatchFd(ours_.get(), {.readable = true}, [&](Readiness) {
      order += "b";
      loop_->Stop();
    });
  });
  Send(theirs_);
  loop_->Run();
  EXPECT_EQ(order, "ab");
}

TEST_F(EpollLoopTest, CallbackMayEndAnotherWatchThatIsReadyInTheSameTurn) {
  FdWatch first;
  FdWatch second;
  int calls = 0;
  const auto end_both = [&](Readiness) {
    ++calls;
    first.Cancel();
    second.Cancel();
  };
  first = loop_->WatchFd(ours_.get(), {.readable = true}, end_both);
  second = loop_->WatchFd(theirs_.get(), {.readable = true}, end_both);
  Send(ours_);
  Send(theirs_);
  RunTurns(5);
  EXPECT_EQ(calls, 1);
}

TEST_F(EpollLoopTest, SleepsWithoutWakingWhileNothingIsDue) {
  rusage before{};
  rusage after{};
  const FdWatch watch = loop_->WatchFd(ours_.get(), {.readable = true}, [](Readiness) {});
  Timer cancelled = loop_->After(5ms, [] {});
  const Timer end = loop_->After(50ms, [&] { loop_->Stop(); });
  cancelled.Cancel();
  ::getrusage(RUSAGE_THREAD, &before);
  loop_->Run();
  ::getrusage(RUSAGE_THREAD, &after);
  // Going to sleep once is one voluntary switch; the machine may add one or two of its own.
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 3);
}

TEST_F(EpollLoopTest, WaitingTasksDieWithTheLoop) {
  auto value = std::make_shared<int>(1);
  {
    const auto loop = *EpollLoop::Create();
    Loop& posts = *loop;
    // Posts once more while it dies, as the end of a connection may do.
    const auto post_at_end = [&posts, value](int*) { posts.Post([value] {}); };
    loop->Post(
        [value, guard = std::unique_ptr<int, decltype(post_at_end)>(value.get(), post_at_end)] {});
    loop->Post([value, timer = loop->After(1h, [value] {})] {});
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST_F(EpollLoopTest, WallClockIsTheSystems) {
  const WallTime before = std::chrono::system_clock::now();
  const WallTime now = loop_->WallNow();
  EXPECT_GE(now, before);
  EXPECT_LE(now, std::chrono::system_clock::now());
}

}  // namespace
}  // namespace galen
