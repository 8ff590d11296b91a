// How the demo ends when it does not end by itself: Ctrl-C at any moment, a program that dies, a
// reader that goes away. Nothing may be left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/fleet_stage.h"
#include "tests/e2e/pseudo_terminal.h"

namespace galen::e2e {
namespace {

using namespace std::chrono_literals;

using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class DemoEnd : public ::testing::Test {
 protected:
  std::vector<std::string> Command(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {BuiltProgram("galen"), "demo", "--directory", stage_.directory()});
    return more;
  }
  // All processes of a demo inherit it, whatever they are called.
  std::string Mark() const { return "GALEN_E2E_DEMO=" + stage_.directory(); }
  std::vector<std::string> Environment() const {
    return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm",
            Mark()};
  }
  std::vector<std::string> LeftProcesses() const {
    std::vector<std::string> left;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      if (ReadAll(entry.path() / "environ").find(Mark()) == std::string::npos) continue;
      left.push_back(entry.path().filename().string() + " " + ReadAll(entry.path() / "comm"));
    }
    return left;
  }
  void ExpectNothingLeft() const {
    EXPECT_THAT(LeftProcesses(), ::testing::IsEmpty());
    for (const auto& entry : fs::directory_iterator(stage_.directory())) {
      EXPECT_FALSE(entry.is_directory()) << "left behind: " << entry.path();
    }
  }

  Stage stage_;
};

class DemoInterrupted : public DemoEnd, public ::testing::WithParamInterface<std::string> {};

TEST_P(DemoInterrupted, EndsWithinTwoSecondsAndLeavesNothing) {
  PseudoTerminal terminal(Command(), Environment(), {});
  ASSERT_TRUE(stage_.Until([&] { return Count(terminal.Output(), GetParam()) > 0; }, 60s))
      << terminal.Output();
  terminal.Type("\x03");
  EXPECT_TRUE(stage_.Until([&] { return !terminal.running(); }, 2s));
  ASSERT_FALSE(terminal.running());
  EXPECT_EQ(terminal.exit_code(), 130) << terminal.Output();
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Moments, DemoInterrupted,
                         ::testing::Values("starting the API", "Files, sockets and logs", "1/5",
                                           "2/5", "no agent is there"),
                         [](const auto& test) { return "Moment" + std::to_string(test.index); });

// A hand that is impatient, and timeout(1), which signals galen and then its group.
TEST_F(DemoEnd, LeavesNothingWhenItIsInterruptedAgainWhileItCleansUp) {
  PseudoTerminal terminal(Command(), Environment(), {});
  ASSERT_TRUE(stage_.Until([&] { return Count(terminal.Output(), "2/5") > 0; }, 60s))
      << terminal.Output();
  EXPECT_TRUE(stage_.Until(
      [&] {
        terminal.Type("\x03");
        return !terminal.running();
      },
      3s));
  ASSERT_FALSE(terminal.running());
  EXPECT_EQ(terminal.exit_code(), 130) << terminal.Output();
  ExpectNothingLeft();
}

TEST_F(DemoEnd, SaysWhichProgramDiedAndWhereItsLogIs) {
  Program& demo = stage_.Start("galen", {"demo", "--batch", "--directory", stage_.directory()},
                               {.environment = {Mark()}, .deadline = 60s});
  const std::string before = "the agent of node-7 (";
  ASSERT_TRUE(stage_.Until([&] { return Count(demo.Log(), "1/5") > 0; }, 60s)) << demo.Log();
  const std::string log = demo.Log();
  ASSERT_NE(log.find(before), std::string::npos) << log;
  ::kill(std::stoi(log.substr(log.find(before) + before.size())), SIGKILL);
  ASSERT_TRUE(stage_.Until([&] { return !demo.running(); }, 5s)) << "it waited for a dead agent";
  EXPECT_EQ(demo.exit_code(), 1);
  EXPECT_THAT(demo.Log(), HasSubstr("galen-agent was ended by signal 9"));
  EXPECT_THAT(demo.Log(), HasSubstr("galen-agent.log"));
  EXPECT_THAT(LeftProcesses(), ::testing::IsEmpty());
}

TEST_F(DemoEnd, EndsWhenNobodyReadsItAnyMore) {
  const Outcome piped = stage_.Run(
      {"/bin/bash", "-o", "pipefail", "-c",
       BuiltProgram("galen") + " demo --batch --directory " + stage_.directory() + " | head -n 1"},
      {.environment = {Mark()}, .deadline = 60s});
  EXPECT_EQ(piped.exit_code, 141) << piped.error;
  ExpectNothingLeft();
}

TEST_F(DemoEnd, TakesItsProgramsAlongWhenItIsKilled) {
  PseudoTerminal terminal(Command(), Environment(), {});
  ASSERT_TRUE(stage_.Until([&] { return Count(terminal.Output(), "1/5") > 0; }, 60s));
  ::kill(terminal.pid(), SIGKILL);
  ASSERT_TRUE(stage_.Until([&] { return !terminal.running(); }));
  EXPECT_TRUE(stage_.Until([&] { return LeftProcesses().empty(); }, 10s))
      << ::testing::PrintToString(LeftProcesses());
}

TEST_F(DemoEnd, KeptUpSaysLinesThatWorkAsTheyArePrinted) {
  Program& demo =
      stage_.Start("galen", {"demo", "--batch", "--keep", "--directory", stage_.directory()},
                   {.environment = {Mark()}, .deadline = 60s});
  ASSERT_TRUE(stage_.Until([&] { return Count(demo.Log(), "describe pod") > 0; }, 90s))
      << demo.Log();
  std::istringstream lines(demo.Log().substr(demo.Log().find("In another terminal:\n")));
  std::string line;
  std::string exports;
  int tried = 0;
  while (std::getline(lines, line)) {
    if (!line.starts_with("  ") || line.ends_with(" watch") || Count(line, "kubectl") > 0) continue;
    if (line.starts_with("  export ")) {
      exports += line + "\n";
      continue;
    }
    const Outcome outcome = stage_.Run({"/bin/sh", "-c", exports + line});
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.error;
    ++tried;
  }
  EXPECT_EQ(tried, 3);
  // The lost GPU is the worst device wherever it stood in the object before. Which one the first
  // Pod got, and lost, the story's line says: "1/5 XID 79 on gpu-1: …".
  const std::string log = demo.Log();
  const std::size_t at = log.find("XID 79 on ") + std::string("XID 79 on ").size();
  const std::string lost = log.substr(at, log.find(':', at) - at);
  const Outcome nodes = stage_.Run({"/bin/sh", "-c", exports + "galen get nodes"});
  EXPECT_THAT(nodes.output, ::testing::ContainsRegex("Unhealthy +" + lost + " +XidGpuLost"));
  demo.Signal(SIGINT);
  EXPECT_TRUE(stage_.Until([&] { return !demo.running(); }, 2s));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace galen::e2e
