// Programs that hang while the kernel loads them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "probes/command/command_runner.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

// A program that the kernel does not load before it is let, as where its file system hangs: who
// opens a file on which another has a lease waits for that one (fcntl(2)).
class SlowlyLoadedCommandTest : public ::testing::Test {
 protected:
  SlowlyLoadedCommandTest() {
    ::signal(SIGIO, SIG_IGN);  // by which the kernel asks for the lease
    std::filesystem::copy_file("/bin/sleep", program_);
    lease_ = Fd(::open(program_.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::fcntl(lease_.get(), F_SETLEASE, F_WRLCK), 0);
    Begin();
    CommandEnd other;
    runner_->Run({.command = {"/bin/sleep", "0.3"}, .timeout = 60s, .cpu = 10s},
                 [&](const CommandEnd& end) {
                   other = end;
                   loop_->Stop();
                 });
    loop_->Run();
    EXPECT_EQ(other.how, CommandEnd::How::kExited) << "it holds up no other";
    EXPECT_GT(other.cpu, Duration::zero()) << "which ran";
    EXPECT_EQ(slow_.how, CommandEnd::How::kNotStarted) << "nothing is known of it";
  }
  ~SlowlyLoadedCommandTest() override { ::signal(SIGIO, SIG_DFL); }
  void Begin() {
    slow_.how = CommandEnd::How::kNotStarted;
    runner_->Run({.command = {program_, "60"}, .timeout = 50ms, .cpu = 10s},
                 [this](const CommandEnd& end) {
                   slow_ = end;
                   loop_->Stop();
                 });
  }
  void LetItLoad() { EXPECT_EQ(::fcntl(lease_.get(), F_SETLEASE, F_UNLCK), 0); }

  const std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
  std::unique_ptr<CommandRunner> runner_ = MakeCommandRunner(*loop_);
  const TemporaryDirectory directory_;
  const std::string program_ = directory_.Path("slow");
  Fd lease_;
  CommandEnd slow_;
};

TEST_F(SlowlyLoadedCommandTest, ItHoldsUpNoOtherAndIsKilledOnceItIsLoadedAfterItsTimeout) {
  LetItLoad();
  loop_->Run();
  EXPECT_EQ(slow_.how, CommandEnd::How::kTimedOut);
}

TEST_F(SlowlyLoadedCommandTest, NothingIsLeftOfItWhenItsRunnerHasGone) {
  // What other tests have left for our end to reap; its own child is not one to be reaped yet.
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  runner_.reset();
  LetItLoad();
  int status = 0;
  const pid_t ended = ::waitpid(-1, &status, 0);
  EXPECT_TRUE(ended < 0 || WTERMSIG(status) == SIGKILL) << status;
}

}  // namespace
}  // namespace galen::probes
