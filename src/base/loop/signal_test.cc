#include "base/loop/signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/loop/epoll_loop.h"
#include "base/loop/test_turns.h"

namespace galen {
namespace {

TEST(SignalWatch, FirstSignalAsksToStopOnTheLoop) {
  const auto loop = *EpollLoop::Create();
  int asked = 0;
  auto watch = SignalWatch::Start(*loop, [&] {
    ++asked;
    loop->Stop();
  });
  ASSERT_TRUE(watch.ok());
  std::raise(SIGTERM);
  loop->Run();
  EXPECT_EQ(asked, 1);
}

TEST(SignalWatch, GivesTheSignalsBackWhenItGoes) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const auto loop = *EpollLoop::Create();
    const auto watch = *SignalWatch::Start(*loop, [] {});
    sigset_t during;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &during);
    EXPECT_EQ(sigismember(&during, SIGINT), 1);
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
  EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

// A terminal that is closed must not leave behind what Ctrl-C would remove.
TEST(SignalWatch, AClosedTerminalAsksToStopTooUnlessThatIsIgnored) {
  std::signal(SIGHUP, SIG_DFL);
  const auto loop = *EpollLoop::Create();
  int asked = 0;
  const auto stop = [&] {
    ++asked;
    loop->Stop();
  };
  {
    const auto watch = *SignalWatch::Start(*loop, stop);
    std::raise(SIGHUP);
    loop->Run();
    EXPECT_EQ(asked, 1);
  }
  // Another one, on the way to the end, does not cut that off.
  EXPECT_EQ(std::signal(SIGHUP, SIG_IGN), SIG_IGN);
  {
    const auto watch = *SignalWatch::Start(*loop, stop);
    std::raise(SIGHUP);
    RunTurns(*loop);
    EXPECT_EQ(asked, 1) << "it would be read by now";
  }
  std::signal(SIGHUP, SIG_DFL);
}

TEST(SignalWatch, AClosedTerminalAsksTwiceWithoutMeaningIt) {
  std::signal(SIGHUP, SIG_DFL);
  const auto loop = *EpollLoop::Create();
  int asked = 0;
  const auto watch = *SignalWatch::Start(*loop, [&] {
    ++asked;
    std::raise(SIGHUP);
  });
  std::raise(SIGHUP);
  RunTurns(*loop);
  EXPECT_EQ(asked, 1);
}

TEST(SignalWatch, BrokenPipeDoesNotEndTheProcess) {
  const auto loop = *EpollLoop::Create();
  bool stopped = false;
  const auto watch = *SignalWatch::Start(*loop, [&] { stopped = true; });
  EXPECT_EQ(std::raise(SIGPIPE), 0);
  loop->Post([&] { loop->Stop(); });
  loop->Run();
  EXPECT_FALSE(stopped) << "it is not a wish that the program ends";
}

TEST(SignalWatchDeathTest, SecondSignalEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        const auto loop = *EpollLoop::Create();
        const auto watch = *SignalWatch::Start(*loop, [] { std::raise(SIGINT); });
        std::raise(SIGTERM);
        loop->Run();
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

// Whoever removes what it made is asked twice by a Ctrl-C held down, and by timeout(1), which
// signals the process and then its group.
TEST(SignalWatch, SecondSignalIsIgnoredWhereTheCleanUpMustNotBeCutOff) {
  const auto loop = *EpollLoop::Create();
  int asked = 0;
  const auto watch = *SignalWatch::Start(
      *loop,
      [&] {
        ++asked;
        std::raise(SIGTERM);
        std::raise(SIGINT);
      },
      SecondSignal::kIsIgnored);
  std::raise(SIGINT);
  RunTurns(*loop);
  EXPECT_EQ(asked, 1);
}

TEST(SignalWatchDeathTest, AProcessThatIgnoredTheSecondSignalEndsWithItsOwnExitCode) {
  EXPECT_EXIT(
      {
        {
          const auto loop = *EpollLoop::Create();
          const auto watch =
              *SignalWatch::Start(*loop, [&] { loop->Stop(); }, SecondSignal::kIsIgnored);
          std::raise(SIGINT);
          loop->Run();
          std::raise(SIGINT);  // nobody reads it any more
        }
        std::raise(SIGTERM);
        ::_exit(130);
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace galen
