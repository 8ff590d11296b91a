#include "web/admin_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files/fake_file_system.h"
#include "base/log.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/fake_loop.h"
#include "base/metrics.h"
#include "net/connection.h"
#include "net/endpoint/test_asker.h"
#include "net/fake_link.h"
#include "net/fake_recording_sink.h"
#include "net/test_loop_runner.h"
#include "net/tls/test_certificates.h"

namespace galen::web {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A page on the fake network, and its answers as "status body".
class AskedPage {
 public:
  explicit AskedPage(net::HttpHandler& page) {
    network_.Listen(kTarget, page);
    net::DialOptions options;
    options.target = kTarget;
    dialling_ = dialer_->Dial(options, [this](StatusOr<std::unique_ptr<net::Connection>> made) {
      connection_ = std::move(made).value();
    });
    loop_.RunUntilIdle();
  }

  std::string Ask(net::HttpRequest request) {
    net::RecordingSink sink;
    const auto call = connection_->Send(std::move(request), sink);
    loop_.RunUntilIdle();
    return fmt::format("{} {}", sink.status(), sink.body());
  }
  std::string Get(const std::string& path) { return Ask({.method = "GET", .path = path}); }

 private:
  static constexpr char kTarget[] = "tcp:127.0.0.1:9470";

  FakeLoop loop_;
  Random random_{1};
  net::FakeNetwork network_{loop_, random_};
  net::LinkWeather weather_;
  std::unique_ptr<net::Dialer> dialer_ = network_.MakeDialer(weather_);
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
};

// Connects over a real socket and sends `text`.
Fd Connect(int port, const std::string& text) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
  return fd;
}

// Sends `text` and gives all that comes back until the server closes.
std::string Talk(EpollLoop& loop, int port, const std::string& text) {
  const Fd fd = Connect(port, text);
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
  FakeFileSystem files;
  Metrics metrics;
  metrics.DeclareGauge("galen_up", "Up.");
  metrics.Set("galen_up", {}, 1);
  net::AdminPage page(metrics);
  const auto server =
      AdminServer::Start(**loop, NullLog(), files, {.address = "127.0.0.1:0"}, page);
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

// What a Pod of the cluster could do at the open port of the probes.
TEST(AdminServer, ClientsThatHoldAllConnectionsShutNoProbeOut) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  FakeFileSystem files;
  Metrics metrics;
  net::AdminPage page(metrics);
  ProbePage probes(page);
  const auto server =
      AdminServer::Start(**loop, NullLog(), files, {.address = "127.0.0.1:0"}, probes);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string& address = (*server)->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  std::vector<Fd> held;
  for (std::size_t i = 0; i < 2 * net::AdminPage::kConnectionsMax; ++i) {
    // Those that say nothing, and those that never finish their request.
    held.push_back(Connect(port, i % 2 == 0 ? "" : "GET /he"));
  }
  for (int i = 0; i < 3; ++i) {
    // It asks to keep the connection; that it ends all the same is what ends Talk.
    const std::string got = Talk(**loop, port, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(got, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(got, HasSubstr("connection: close\r\n"));
    EXPECT_THAT(got, EndsWith("ok\n"));
  }
}

// A server with a certificate and a token, and who asks it over TLS.
class GuardedAdminServerTest : public ::testing::Test {
 protected:
  GuardedAdminServerTest() {
    Issue(first_);
    WriteFile("/token", "s3cret\n");
    server_ = AdminServer::Start(runner_.loop(), log_, files_,
                                 {.address = "127.0.0.1:0",
                                  .certificate_file = "/crt",
                                  .key_file = "/key",
                                  .token_file = "/token",
                                  .renewal = 10ms},
                                 page_);
  }

  bool HasLogged(std::string_view sentence) const {
    return logged_.find(sentence) != std::string::npos;
  }
  void WriteFile(const std::string& path, const std::string& text) {
    EXPECT_TRUE(files_.WriteAtomically(path, text, 0600).ok());
  }
  void Issue(const net::TestAuthority& authority) {
    const net::TestCertificate leaf = authority.Issue({.addresses = {"127.0.0.1"}});
    WriteFile("/crt", leaf.certificate_pem);
    WriteFile("/key", leaf.key_pem);
  }
  // The status of /healthz; 0 when no connection comes about that this authority vouches for.
  int Ask(const net::TestAuthority& authority, const std::string& token) {
    const std::string answer = net::AskOverHttp1(
        runner_, (*server_)->address(),
        {.method = "GET", .path = "/healthz", .headers = {{"authorization", "Bearer " + token}}},
        net::TlsOptions{.ca_pem = authority.pem()});
    return answer.empty() ? 0 : std::stoi(answer.substr(answer.find(' ')));
  }

  const net::TestAuthority first_{"first"};
  net::LoopRunner runner_;
  std::string logged_;
  Log log_{LogLevel::kInfo, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { logged_ += line; }};
  FakeFileSystem files_;
  Metrics metrics_;
  net::AdminPage page_{metrics_};
  StatusOr<std::unique_ptr<AdminServer>> server_ = Internal("not started");
};

TEST_F(GuardedAdminServerTest, AsksForItsTokenOverTls) {
  ASSERT_TRUE(server_.ok()) << server_.status().message();
  EXPECT_EQ(Ask(first_, "s3cret"), 200);
  EXPECT_EQ(Ask(first_, "guess"), 401);
}

TEST_F(GuardedAdminServerTest, ShowsACertificateThatWasReplacedAndKeepsTheOldOneUntilBothFilesFit) {
  ASSERT_TRUE(server_.ok()) << server_.status().message();
  const net::TestAuthority second("second");
  WriteFile("/crt", second.Issue({.addresses = {"127.0.0.1"}}).certificate_pem);
  // The key is the old one's.
  runner_.RunUntil([&] { return HasLogged("the previous one stays in use"); });
  EXPECT_EQ(Ask(first_, "s3cret"), 200);
  Issue(second);
  runner_.RunUntil([&] { return HasLogged("certificate of metrics was replaced"); });
  EXPECT_EQ(Ask(second, "s3cret"), 200);
  EXPECT_EQ(Ask(first_, "s3cret"), 0);
}

TEST_F(GuardedAdminServerTest, DoesNotStartWithoutItsFiles) {
  const auto start = [this](const AdminOptions& options) {
    return std::string(
        AdminServer::Start(runner_.loop(), NullLog(), files_, options, page_).status().message());
  };
  EXPECT_THAT(start({.address = ":0", .certificate_file = "/none", .key_file = "/key"}),
              HasSubstr("read /none"));
  EXPECT_THAT(start({.address = ":0", .token_file = "/nothing"}), HasSubstr("read /nothing"));
  EXPECT_THAT(start({.address = ":0", .certificate_file = "/token", .key_file = "/key"}),
              HasSubstr("TLS of tcp:127.0.0.1:0"));
}

TEST(AdminServer, SaysWhyItCannotStart) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  FakeFileSystem files;
  Metrics metrics;
  net::AdminPage page(metrics);
  EXPECT_EQ(
      AdminServer::Start(**loop, NullLog(), files, {.address = "nowhere"}, page).status().code(),
      Code::kInvalidArgument);
  const auto first = AdminServer::Start(**loop, NullLog(), files, {.address = ":0"}, page);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(
      AdminServer::Start(**loop, NullLog(), files, {.address = (*first)->address()}, page).ok());
}

constexpr char kRefused[] = "401 send the bearer token in the header Authorization\n";

class TokenGateTest : public ::testing::Test {
 protected:
  TokenGateTest() { Write("s3cret\n"); }

  void Write(const std::string& token) {
    EXPECT_TRUE(files_.WriteAtomically("/token", token, 0600).ok());
  }
  std::string With(const std::string& authorization) {
    return asked_.Ask(
        {.method = "GET", .path = "/healthz", .headers = {{"authorization", authorization}}});
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  Metrics metrics_;
  net::AdminPage page_{metrics_};
  ProbePage behind_{page_};
  TokenGate gate_{loop_, files_, "/token", behind_};
  AskedPage asked_{gate_};
};

TEST_F(TokenGateTest, LetsThroughWhoBringsTheToken) {
  EXPECT_EQ(With("Bearer s3cret"), "200 ok\n");
  EXPECT_EQ(With("bearer  s3cret "), "200 ok\n") << "a scheme is written in any case";
}

TEST_F(TokenGateTest, RefusesEverybodyElse) {
  EXPECT_EQ(asked_.Get("/healthz"), kRefused);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets",
                            "Bearer S3cret", "Basic s3cret", "s3cret"}) {
    EXPECT_EQ(With(wrong), kRefused) << wrong;
  }
}

TEST_F(TokenGateTest, AnotherTokenCountsWithinASecondAndNoneIsNobodys) {
  EXPECT_EQ(With("Bearer s3cret"), "200 ok\n");
  Write("other");
  loop_.Advance(1s);
  EXPECT_EQ(With("Bearer s3cret"), kRefused);
  EXPECT_EQ(With("Bearer other"), "200 ok\n");
  Write("\n");
  loop_.Advance(1s);
  EXPECT_EQ(With("Bearer "), kRefused);
  EXPECT_EQ(With("Bearer \n"), kRefused);
  EXPECT_EQ(With("Bearer other"), kRefused);
  EXPECT_TRUE(files_.Remove("/token").ok());
  loop_.Advance(1s);
  EXPECT_EQ(With("Bearer other"), kRefused);
}

TEST_F(TokenGateTest, FileIsReadAtMostOnceASecondHoweverOftenItIsAsked) {
  EXPECT_EQ(With("Bearer guess"), kRefused);
  Write("other");
  loop_.Advance(999ms);
  EXPECT_EQ(With("Bearer other"), kRefused) << "not looked at yet";
  loop_.Advance(1ms);
  EXPECT_EQ(With("Bearer other"), "200 ok\n");
}

TEST(ProbePage, SaysReadyOrNotAndNeverWhy) {
  Metrics metrics;
  metrics.DeclareGauge("galen_secret", "Secret.");
  net::AdminPage whole(metrics);
  std::string trouble;
  whole.AddCheck("permissions", [&trouble] { return trouble; });
  whole.AddNote("troubles", [] { return "driver of namespace train is gone"; });
  ProbePage probes(whole);
  AskedPage page(probes);
  EXPECT_EQ(page.Get("/healthz"), "200 ok\n");
  EXPECT_EQ(page.Get("/readyz"), "200 ok\n");
  EXPECT_EQ(page.Get("/readyz?verbose"), "200 ok\n");
  trouble = "cannot patch pods/status in the namespace train";
  EXPECT_EQ(page.Get("/readyz?verbose"), "503 not ready\n");
  EXPECT_EQ(page.Get("/healthz?verbose"), "200 ok\n");
  EXPECT_EQ(page.Get("/metrics"), "404 not found: try /healthz or /readyz\n");
  EXPECT_EQ(page.Ask({.method = "POST", .path = "/healthz"}),
            "405 only GET and HEAD are answered\n");
}

}  // namespace
}  // namespace galen::web
