#include "kube/exec_runner.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "base/loop/epoll_loop.h"
#include "kube/fake_exec_runner.h"

namespace galen::kube {
namespace {

// What all ExecRunners promise: one suite, run on processes and on the fake.

// A plugin that prints "token" or fails.
struct RealPlugins {
  void Run(bool succeeds, std::function<void(StatusOr<std::string>)> done) {
    ExecPlugin plugin;
    plugin.command = {"/bin/sh", "-c", succeeds ? "printf token" : "echo secret; exit 3"};
    runner->Run(plugin, std::move(done));
  }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) {
      const Timer turn = loop->After(std::chrono::milliseconds(1), [this] { loop->Stop(); });
      loop->Run();
    }
    ASSERT_TRUE(done());
  }

  const std::unique_ptr<EpollLoop> loop = *EpollLoop::Create();
  std::unique_ptr<ExecRunner> runner = MakeExecRunner(*loop);
};

// The fake, which answers within Run, or later.
template <bool kAtOnce>
struct FakePlugins {
  void Run(bool succeeds, std::function<void(StatusOr<std::string>)> done) {
    StatusOr<std::string> answer = std::string("token");
    if (!succeeds) answer = Unauthenticated("ended with exit code 3");
    if (kAtOnce) {
      runner->AnswerNext(std::move(answer));
    } else {
      answers.push_back(std::move(answer));
    }
    runner->Run({.command = {"/plugin"}}, std::move(done));
  }
  void RunUntil(const std::function<bool()>& done) {
    while (!done() && !answers.empty()) {
      StatusOr<std::string> next = std::move(answers.front());
      answers.pop_front();
      runner->Finish(std::move(next));
    }
    ASSERT_TRUE(done());
  }

  std::deque<StatusOr<std::string>> answers;
  std::unique_ptr<FakeExecRunner> runner = std::make_unique<FakeExecRunner>();
};

template <typename Plugins>
class ExecRunnerContract : public ::testing::Test {
 protected:
  Plugins plugins_;
  std::vector<StatusOr<std::string>> ends_;
};

using PluginKinds = ::testing::Types<RealPlugins, FakePlugins<true>, FakePlugins<false>>;
TYPED_TEST_SUITE(ExecRunnerContract, PluginKinds);

TYPED_TEST(ExecRunnerContract, EachRunEndsOnceWithItsOwnAnswer) {
  for (const bool succeeds : {true, false, true}) {
    this->plugins_.Run(succeeds, [this](auto end) { this->ends_.push_back(std::move(end)); });
  }
  this->plugins_.RunUntil([&] { return this->ends_.size() == 3; });
  int tokens = 0;
  for (const StatusOr<std::string>& end : this->ends_) {
    if (end.ok() && *end == "token") ++tokens;
    if (end.ok()) continue;
    EXPECT_EQ(end.status(), Unauthenticated("ended with exit code 3"));
  }
  EXPECT_EQ(tokens, 2);
}

TYPED_TEST(ExecRunnerContract, WhoIsToldOfAnEndMayRunAnother) {
  this->plugins_.Run(false, [this](auto first) {
    this->ends_.push_back(std::move(first));
    this->plugins_.Run(true, [this](auto next) { this->ends_.push_back(std::move(next)); });
  });
  this->plugins_.RunUntil([&] { return this->ends_.size() == 2; });
  EXPECT_FALSE(this->ends_[0].ok());
  EXPECT_EQ(*this->ends_[1], "token");
}

TYPED_TEST(ExecRunnerContract, OneThatIsDestroyedTellsNobody) {
  int told = 0;
  this->plugins_.Run(true, [&](auto) { ++told; });
  const int before = told;  // perhaps within Run
  this->plugins_.runner.reset();
  EXPECT_EQ(told, before);
}

// What only processes do.

// Runs `script` by the shell as a plugin would be run, and gives what came of it.
StatusOr<std::string> RunScript(const std::string& script,
                                std::vector<std::string> environment = {}) {
  auto loop = *EpollLoop::Create();
  const auto runner = MakeExecRunner(*loop);
  std::optional<StatusOr<std::string>> result;
  ExecPlugin plugin;
  plugin.command = {"/bin/sh", "-c", script};
  plugin.environment = std::move(environment);
  runner->Run(plugin, [&](StatusOr<std::string> output) {
    result = std::move(output);
    loop->Stop();
  });
  if (!result) loop->Run();
  return *result;
}

TEST(ExecRunner, GivesWhatThePluginPrints) {
  EXPECT_EQ(*RunScript("printf 'a%sb' \"$WHO\"", {"WHO=me"}), "ameb");
}

TEST(ExecRunner, ReportsAPluginThatFails) {
  EXPECT_EQ(RunScript("echo secret; exit 3").status(), Unauthenticated("ended with exit code 3"));
  EXPECT_EQ(RunScript("kill -9 $$").status(), Unauthenticated("ended by signal 9"));
}

TEST(ExecRunner, StopsAPluginThatPrintsWithoutEnd) {
  EXPECT_EQ(
      RunScript("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done").status().code(),
      Code::kResourceExhausted);
}

TEST(ExecRunner, ReportsACommandThatIsNotThere) {
  auto loop = *EpollLoop::Create();
  const auto runner = MakeExecRunner(*loop);
  std::optional<Status> status;
  runner->Run({.command = {"/none/such"}}, [&](const StatusOr<std::string>& output) {
    status = output.status();
    loop->Stop();
  });
  if (!status) loop->Run();
  EXPECT_FALSE(status->ok());
}

}  // namespace
}  // namespace galen::kube
