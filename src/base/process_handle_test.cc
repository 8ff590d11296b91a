#include "base/process_handle.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace galen {
namespace {

TEST(ProcessHandle, MeansAProcessAlsoAfterItsEnd) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Fd handle = OpenProcess(child);
  ASSERT_TRUE(handle);
  EXPECT_TRUE(SignalProcess(handle, 0));
  EXPECT_TRUE(SignalProcess(handle, SIGKILL));
  ::kill(child, SIGTERM);  // or a kill that did not reach it would be waited for
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_FALSE(SignalProcess(handle, 0)) << "its number may be another's by now";
  EXPECT_FALSE(OpenProcess(child));
}

TEST(ProcessHandle, NoProcessHasNoHandle) {
  EXPECT_FALSE(OpenProcess(0));
  EXPECT_FALSE(OpenProcess(-1));
  EXPECT_FALSE(SignalProcess(Fd(), SIGKILL));
}

}  // namespace
}  // namespace galen
