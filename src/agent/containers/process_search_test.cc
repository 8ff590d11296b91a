#include "agent/containers/process_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/loop/epoll_loop.h"
#include "base/loop/process.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;

class ProcessSearchTest : public ::testing::Test {
 protected:
  std::unique_ptr<Process> Start() {
    auto process = Process::Start(*loop_,
                                  {.command = {"sleep", "60"},
                                   .environment = {"GALEN_SEARCH_TEST=/s/pods/a/main"},
                                   .directory = "",
                                   .output_path = "/dev/null",
                                   .on_output = {}},
                                  [this](Process::Exit exit) {
                                    ended_by_ = exit.signal;
                                    loop_->Stop();
                                  });
    EXPECT_TRUE(process.ok());
    return std::move(process).value();
  }
  static bool Has(pid_t pid, const std::string& wanted) {
    return HasEnvironmentLine(pid, [&](std::string_view line) { return line == wanted; });
  }

  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  int ended_by_ = 0;
};

TEST_F(ProcessSearchTest, FindsAProcessByItsEnvironmentAndSignalsThatOne) {
  const auto process = Start();
  EXPECT_THAT(AllProcesses(), Contains(process->pid()));
  const auto is_it = [](pid_t pid) { return Has(pid, "GALEN_SEARCH_TEST=/s/pods/a/main"); };
  // A child that runs its own program already may show no environment for a moment: the kernel
  // lays it out a little later, within far fewer looks than these.
  int looks = 0;
  while (!is_it(process->pid()) && looks < 200'000) ++looks;
  EXPECT_TRUE(is_it(process->pid())) << "after " << looks << " looks";
  EXPECT_FALSE(Has(process->pid(), "GALEN_SEARCH_TEST=/s/pods/a")) << "a line is taken whole";
  EXPECT_EQ(SignalThese(AllProcesses(), SIGTERM, is_it), 1);
  const Timer limit = loop_->After(10s, [this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(ended_by_, SIGTERM);
}

TEST_F(ProcessSearchTest, WhatIsNotMeantIsLeftAlone) {
  const auto process = Start();
  EXPECT_EQ(SignalThese({process->pid()}, SIGKILL, [](pid_t) { return false; }), 0);
  EXPECT_EQ(SignalThese({process->pid()}, 0, [](pid_t) { return true; }), 1) << "it still runs";
}

TEST_F(ProcessSearchTest, NeverSignalsItself) {
  EXPECT_EQ(SignalThese({::getpid()}, SIGKILL, [](pid_t) { return true; }), 0);
}

// The number of a process that ended may be anybody's.
TEST_F(ProcessSearchTest, AProcessThatIsGoneIsNotSignalled) {
  pid_t pid = 0;
  {
    const auto process = Start();
    pid = process->pid();
  }
  EXPECT_EQ(SignalThese({pid}, SIGKILL, [](pid_t) { return true; }), 0);
}

}  // namespace
}  // namespace galen::agent
