#include "kube/exec_runner.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/loop/epoll_loop.h"

namespace galen::kube {
namespace {

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
