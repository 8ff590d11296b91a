#include "base/loop/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/fake_loop.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A service manager's socket.
class ServiceManagerTest : public ::testing::Test {
 protected:
  ServiceManagerTest() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  std::vector<std::string> Heard() {
    std::vector<std::string> heard;
    char buffer[100];
    for (ssize_t size = 0; (size = ::recv(fd_.get(), buffer, sizeof(buffer), 0)) > 0;) {
      heard.emplace_back(buffer, static_cast<std::size_t>(size));
    }
    return heard;
  }
  Environment Watched(const std::string& pid) {
    return {{"NOTIFY_SOCKET", path_}, {"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", pid}};
  }

  static constexpr pid_t kSelf = 42;

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("notify");
  const Fd fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  FakeLoop loop_;
};

TEST_F(ServiceManagerTest, HearsThatTheProgramIsReadyAndThatItsLoopRuns) {
  ServiceManager manager(loop_, Watched("42"), kSelf);
  loop_.Advance(60s);
  EXPECT_THAT(Heard(), IsEmpty()) << "not ready yet";
  manager.Ready();
  EXPECT_THAT(Heard(), ElementsAre("READY=1", "WATCHDOG=1"));
  loop_.Advance(30s);
  EXPECT_THAT(Heard(), ElementsAre("WATCHDOG=1", "WATCHDOG=1"));
  manager.Stopping();
  EXPECT_THAT(Heard(), ElementsAre("STOPPING=1"));
}

TEST_F(ServiceManagerTest, AnswersNoWatchdogOfItsParent) {
  ServiceManager manager(loop_, Watched("41"), kSelf);
  manager.Ready();
  loop_.Advance(60s);
  EXPECT_THAT(Heard(), ElementsAre("READY=1"));
}

TEST_F(ServiceManagerTest, WithoutASocketThereIsNobodyToNotify) {
  ServiceManager none(loop_, {}, kSelf);
  none.Ready();
  none.Stopping();
  ServiceManager gone(loop_, {{"NOTIFY_SOCKET", directory_.Path("gone")}}, kSelf);
  gone.Ready();
  EXPECT_THAT(Heard(), IsEmpty());
}

}  // namespace
}  // namespace galen
