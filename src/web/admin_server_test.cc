#include "web/admin_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/epoll_loop.h"
#include "base/fd.h"

namespace galen::web {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Sends `text` over a real socket and gives all that comes back until the server closes.
std::string Talk(EpollLoop& loop, int port, const std::string& text) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
  std::string answer;
  const FdWatch watch = loop.WatchFd(fd.get(), {.readable = true}, [&](Readiness) {
    char buffer[4096];
    const ssize_t size = ::recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (size > 0) answer.append(buffer, static_cast<std::size_t>(size));
    if (size == 0) loop.Stop();
  });
  const Timer limit = loop.After(5s, [&loop] { loop.Stop(); });
  loop.Run();
  return answer;
}

TEST(AdminServer, AnswersAScraperOverARealSocket) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  Metrics metrics;
  metrics.DeclareGauge("galen_up", "Up.");
  metrics.Set("galen_up", {}, 1);
  net::AdminPage page(metrics);
  const auto server = AdminServer::Start(**loop, NullLog(), "127.0.0.1:0", page);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string& address = (*server)->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));

  const std::string got =
      Talk(**loop, port, "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(got, HasSubstr("galen_up 1"));
  const std::string head =
      Talk(**loop, port, "HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, Not(HasSubstr("galen_up")));
}

TEST(AdminServer, SaysWhyItCannotStart) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  Metrics metrics;
  net::AdminPage page(metrics);
  EXPECT_EQ(AdminServer::Start(**loop, NullLog(), "nowhere", page).status().code(),
            Code::kInvalidArgument);
  const auto first = AdminServer::Start(**loop, NullLog(), ":0", page);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(AdminServer::Start(**loop, NullLog(), (*first)->address(), page).ok());
}

}  // namespace
}  // namespace galen::web
