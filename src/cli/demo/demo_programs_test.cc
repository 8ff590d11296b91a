// The demo's processes, with scripts in the place of our programs; with the real ones they are in
// tests/e2e/demo_test.cc.
#include "cli/demo/demo_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What each script is made of: it notes that it was asked to end, before it says that it is there.
constexpr std::string_view kListens = "trap 'echo $(basename $0) >>ENDED; exit 0' TERM\n";
constexpr std::string_view kStays = "while :; do sleep 0.02; done\n";

std::string Listening(const std::string& says) {
  return std::string(kListens) + says + "\n" + std::string(kStays);
}

class DemoProgramsTest : public ::testing::Test {
 protected:
  DemoProgramsTest() {
    // The API writes the file that it is told to, once it serves.
    Script("galen-sim", Listening("echo \"$@\"; echo kubeconfig >\"$4\""));
    Script("galen-agent", Listening("echo \"$@\""));
    Script("galen-driver", Listening("echo \"$@\""));
  }
  void Script(const std::string& name, std::string text) {
    const std::string ended = "ENDED";
    if (const std::size_t at = text.find(ended); at != text.npos) {
      text.replace(at, ended.size(), directory_.Path("ended"));
    }
    std::ofstream(directory_.Path(name)) << "#!/bin/sh\n" << text;
    EXPECT_EQ(::chmod(directory_.Path(name).c_str(), 0755), 0);
  }
  DemoPrograms& Programs() {
    if (programs_) return *programs_;
    settings_.bin_directory = directory_.path();
    settings_.interrupt = &interrupt_;
    programs_ = std::make_unique<DemoPrograms>(
        *loop_, place_, settings_,
        [this](const std::string& program, const Process::Exit&, const std::string& how) {
          deaths_.push_back(program);
          sentences_.push_back(how);
        });
    return *programs_;
  }
  std::string Read(const std::string& path) {
    const auto text = PosixFileSystem().Read(path);
    return text.ok() ? *text : "";
  }
  // Turns the loop until `done`, 5 s at most.
  void WaitUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1'000 && !done(); ++i) {
      const Timer turn = loop_->After(5ms, [this] { loop_->Stop(); });
      loop_->Run();
    }
    EXPECT_TRUE(done());
  }
  // Until its script has begun to wait for signals.
  void WaitForLog(const std::string& program, const std::string& text) {
    WaitUntil([&] { return Read(place_.log(program)).find(text) != std::string::npos; });
  }

  const TemporaryDirectory directory_;
  const DemoPlace place_{directory_.path()};
  const std::unique_ptr<EpollLoop> loop_ = std::move(*EpollLoop::Create());
  Interrupt interrupt_{*loop_};
  DemoPrograms::Settings settings_;
  std::vector<std::string> deaths_, sentences_;
  std::unique_ptr<DemoPrograms> programs_;
};

TEST_F(DemoProgramsTest, TheApiServesWhenItsKubeconfigIsThere) {
  settings_.api_arguments = {"--one-more"};
  ASSERT_EQ(Programs().StartApi(), OkStatus());
  EXPECT_EQ(Read(place_.kubeconfig()), "kubeconfig\n");
  EXPECT_EQ(Read(place_.log("galen-sim")),
            "--listen 127.0.0.1:0 --kubeconfig-out " + place_.kubeconfig() + " --one-more\n");
  EXPECT_EQ(::kill(Programs().pid("galen-sim"), 0), 0);
  EXPECT_THAT(deaths_, IsEmpty());
}

TEST_F(DemoProgramsTest, AProgramIsToldWhereTheOthersAre) {
  settings_.node = "node-3";
  settings_.agent_arguments = {"--more"};
  ASSERT_EQ(Programs().StartAgent(), OkStatus());
  WaitForLog("galen-agent", "--more");
  const std::string said = Read(place_.log("galen-agent"));
  EXPECT_THAT(said, HasSubstr("--node node-3 "));
  EXPECT_THAT(said, HasSubstr("--kubeconfig " + place_.kubeconfig()));
  EXPECT_THAT(said, HasSubstr("--socket " + place_.agent_socket()));
}

TEST_F(DemoProgramsTest, OneThatEndsByItselfIsReportedWithItsLog) {
  Script("galen-agent", "exit 3\n");
  ASSERT_EQ(Programs().StartAgent(), OkStatus());
  WaitUntil([&] { return !deaths_.empty(); });
  EXPECT_THAT(deaths_, ElementsAre("galen-agent"));
  EXPECT_THAT(sentences_, ElementsAre("galen-agent ended with exit code 3; its log is " +
                                      place_.log("galen-agent")));
}

TEST_F(DemoProgramsTest, OneThatASignalEndsIsReportedByItsNumber) {
  Script("galen-driver", "kill -9 $$\n");
  ASSERT_EQ(Programs().StartGpuDriver(), OkStatus());
  WaitUntil([&] { return !deaths_.empty(); });
  EXPECT_THAT(sentences_, ElementsAre(HasSubstr("gpu-driver was ended by signal 9")));
}

TEST_F(DemoProgramsTest, OneThatIsNotThereIsReportedToo) {
  ASSERT_EQ(::unlink(directory_.Path("galen-agent").c_str()), 0);
  ASSERT_EQ(Programs().StartAgent(), OkStatus()) << "it is started through another program";
  WaitUntil([&] { return !deaths_.empty(); });
  EXPECT_THAT(sentences_, ElementsAre(HasSubstr("galen-agent ended with exit code 127")));
}

TEST_F(DemoProgramsTest, OneThatIsKilledOnPurposeIsNoDeathAndMayStartAgain) {
  ASSERT_EQ(Programs().StartGpuDriver(), OkStatus());
  const pid_t first = Programs().pid("gpu-driver");
  ASSERT_EQ(Programs().Kill("gpu-driver"), OkStatus());
  EXPECT_THAT(deaths_, IsEmpty());
  EXPECT_NE(::kill(first, 0), 0) << "it is gone when Kill returns";
  ASSERT_EQ(Programs().StartGpuDriver(), OkStatus());
  EXPECT_NE(Programs().pid("gpu-driver"), first);
  EXPECT_EQ(::kill(Programs().pid("gpu-driver"), 0), 0);
}

TEST_F(DemoProgramsTest, AWaitEndsWithTheInterruptsReason) {
  Script("galen-sim", Listening(":"));  // serves nothing
  // The loop turns only while the API is waited for.
  loop_->Post([this] { interrupt_.Raise(Cancelled("Ctrl-C")); });
  const Time start = loop_->Now();
  EXPECT_EQ(Programs().StartApi(), Cancelled("Ctrl-C"));
  EXPECT_LT(loop_->Now() - start, 10s);
}

TEST_F(DemoProgramsTest, AllAreAskedToEndAndTheApiLast) {
  settings_.end_others_within = 5s;
  ASSERT_EQ(Programs().StartApi(), OkStatus());
  ASSERT_EQ(Programs().StartAgent(), OkStatus());
  ASSERT_EQ(Programs().StartGpuDriver(), OkStatus());
  WaitForLog("galen-agent", "--role");
  WaitForLog("gpu-driver", "gpu");
  Programs().StopAll();
  const std::string ended = Read(directory_.Path("ended"));
  EXPECT_TRUE(ended.ends_with("galen-sim\n")) << ended;
  EXPECT_THAT(ended, HasSubstr("galen-agent\n"));
  EXPECT_THAT(ended, HasSubstr("galen-driver\n"));
  EXPECT_THAT(deaths_, IsEmpty()) << "they were asked to";
}

TEST_F(DemoProgramsTest, OneThatDoesNotListenIsKilled) {
  Script("galen-agent", "trap '' TERM\necho deaf\nwhile :; do sleep 0.02; done\n");
  settings_.end_others_within = 100ms;
  ASSERT_EQ(Programs().StartAgent(), OkStatus());
  WaitForLog("galen-agent", "deaf");
  const pid_t pid = Programs().pid("galen-agent");
  const Time start = loop_->Now();
  Programs().StopAll();
  EXPECT_LT(loop_->Now() - start, 5s);
  WaitUntil([&] { return ::kill(pid, 0) != 0; });
}

}  // namespace
}  // namespace galen::cli
