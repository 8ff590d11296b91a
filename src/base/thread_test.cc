#include "base/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <csignal>
#include <cstddef>

namespace galen {
namespace {

using ::testing::HasSubstr;

TEST(Thread, IsCalledByItsNameForThoseWhoLookAtTheProcess) {
  std::array<char, 16> name{};
  auto thread = StartThread("fifteen-letters",
                            [&] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  thread->join();
  EXPECT_STREQ(name.data(), "fifteen-letters");
}

TEST(Thread, HandlesNoSignalAndLeavesItsStarterAsItWas) {
  sigset_t before, after, inside;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  auto thread = StartThread("signals", [&] { pthread_sigmask(SIG_BLOCK, nullptr, &inside); });
  thread->join();
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &after), 0);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGHUP, SIGUSR1}) {
    EXPECT_EQ(sigismember(&inside, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

// A stack too large for memory plays a machine that has no room for another thread.
TEST(Thread, ThatCannotBeStartedIsAnErrorWithWhatToRaise) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const auto refused = StartThread("disk", [] {});
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("start thread \"disk\": "));
  EXPECT_THAT(refused.status().message(), HasSubstr("raise the limit of processes"));
}

}  // namespace
}  // namespace galen
