// The server on real sockets; what it says over a connection is in http_contract_test.
#include "net/endpoint/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/files/test_temporary_directory.h"
#include "base/loop/fake_loop.h"
#include "net/connection.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_memory_stream.h"
#include "net/fake_recording_sink.h"
#include "net/socket/fd_stream.h"
#include "net/socket/socket.h"
#include "net/test_loop_runner.h"
#include "net/tls/test_certificates.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client that is only bytes.
struct RawClient {
  RawClient(IoLoop& loop, const std::string& path)
      : stream(MakeFdStream(loop, *StartConnect(*UnixSocketAddress(path)))) {
    stream->SetSink(bytes);
  }

  RecordingByteSink bytes;
  std::unique_ptr<ByteStream> stream;
};

class ServerTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<Server>> Start(ServerOptions options) {
    if (options.address.empty()) options.address = address_;
    return Server::Start(runner_.loop(), NullLog(), std::move(options), handler_);
  }
  std::unique_ptr<Connection> Connect() {
    std::unique_ptr<Connection> connection;
    const auto dialling = dialer_->Dial({.target = address_}, [&](auto result) {
      ASSERT_TRUE(result.ok()) << result.status().message();
      connection = *std::move(result);
    });
    runner_.RunUntil([&] { return connection != nullptr; });
    return connection;
  }
  bool SocketExists() const { return access(directory_.Path("s").c_str(), F_OK) == 0; }

  const TemporaryDirectory directory_;
  const std::string address_ = "unix:" + directory_.Path("s");
  LoopRunner runner_;
  KeepingHandler handler_;
  RecordingSink sink_;
  const std::unique_ptr<Dialer> dialer_ = MakeDialer(runner_.loop());
};

TEST_F(ServerTest, SocketFileLivesAsLongAsTheServer) {
  auto server = *Start({});
  EXPECT_TRUE(SocketExists());
  EXPECT_EQ(server->address(), address_);
  server.reset();
  EXPECT_FALSE(SocketExists());
}

TEST_F(ServerTest, SecondServerAtTheSamePathIsRefused) {
  const auto first = *Start({});
  const Status second = Start({}).status();
  EXPECT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_TRUE(SocketExists());
}

TEST_F(ServerTest, FreePortIsChosenAndTold) {
  const auto server = *Start({.address = "tcp:127.0.0.1:0"});
  EXPECT_THAT(server->address(), ::testing::Not(EndsWith(":0")));
}

TEST_F(ServerTest, NameToListenOnIsRefusedWithAdvice) {
  const Status status = Start({.address = "tcp:localhost:0"}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("as a number"));
}

TEST_F(ServerTest, BrokenCertificateStopsTheStart) {
  const Status status =
      Start({.tls = ServerTls{.certificate_pem = "none", .key_pem = "none"}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_FALSE(SocketExists());
}

TEST_F(ServerTest, ConnectionPastTheLimitIsClosedWhileAllOthersAreOwedAnAnswer) {
  const auto server = *Start({.connections_max = 1});
  const auto first = Connect();
  const auto call = first->Send({.path = "/"}, sink_);
  runner_.RunUntil([&] { return !handler_.exchanges.empty(); });
  RawClient second(runner_.loop(), directory_.Path("s"));
  runner_.RunUntil([&] { return !second.bytes.closed.ok(); });
  EXPECT_EQ(server->connections(), 1U);
  Respond(*handler_.exchanges[0], 200, "text/plain", "last");
  runner_.RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.body(), "last");
}

TEST_F(ServerTest, ConnectionPastTheLimitTakesThePlaceOfTheOneIdleLongest) {
  const auto server = *Start({.connections_max = 2});
  const auto first = Connect();
  const auto second = Connect();
  const auto call = first->Send({.path = "/"}, sink_);
  runner_.RunUntil([&] { return !handler_.exchanges.empty(); });
  Respond(*handler_.exchanges[0], 200, "text/plain", "x");
  runner_.RunUntil([&] { return sink_.ended(); });
  const auto third = Connect();
  runner_.RunUntil([&] { return !second->usable(); });
  EXPECT_EQ(server->connections(), 2U);
  EXPECT_TRUE(first->usable());
  EXPECT_TRUE(third->usable());
}

// More at once than there are places: each has said its request when it is accepted.
TEST_F(ServerTest, ClientsThatComeTogetherAreAllAnsweredBeforeTheyMakeRoom) {
  class AnsweringHandler final : public HttpHandler {
    void Handle(std::unique_ptr<HttpExchange> exchange) override {
      Respond(*exchange, 200, "text/plain", "answer");
    }
  } handler;
  const auto server = *Server::Start(runner_.loop(), NullLog(),
                                     {.address = address_, .connections_max = 2}, handler);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 7; ++i) {
    clients.push_back(std::make_unique<RawClient>(runner_.loop(), directory_.Path("s")));
    clients.back()->stream->Write("GET / HTTP/1.1\r\n\r\n");
  }
  runner_.RunUntil([&] {
    return std::ranges::all_of(clients, [](const auto& client) {
      return client->bytes.received.ends_with("answer") || !client->bytes.closed.ok();
    });
  });
  for (const auto& client : clients) EXPECT_THAT(client->bytes.received, EndsWith("answer"));
  EXPECT_LE(server->connections(), 2U);
}

TEST_F(ServerTest, SaysAtMostOnceAMinuteThatTooManyAreOpen) {
  std::vector<std::string> lines;
  Log log(
      LogLevel::kWarning, [] { return WallTime(); },
      [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto server =
      *Server::Start(runner_.loop(), log, {.address = address_, .connections_max = 1}, handler_);
  for (int i = 0; i < 2; ++i) {
    const auto first = Connect();
    auto second = Connect();
    runner_.RunUntil([&] { return !first->usable(); });
    second.reset();
    runner_.RunUntil([&] { return server->connections() == 0; });
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("the one idle longest is closed for each new one"));
}

// Time stands still until the test moves it, and a descriptor is ready when the test says so.
class StandingIoLoop final : public IoLoop {
 public:
  Time Now() const override { return time.Now(); }
  WallTime WallNow() const override { return time.WallNow(); }
  void Post(Task task) override { time.Post(std::move(task)); }
  [[nodiscard]] Timer At(Time when, Task task) override { return time.At(when, std::move(task)); }
  [[nodiscard]] FdWatch WatchFd(int, Readiness, std::function<void(Readiness)> ready) override {
    on_ready = std::move(ready);
    return FdWatch();
  }

  FakeLoop time;
  std::function<void(Readiness)> on_ready;  // of the last watch
};

TEST_F(ServerTest, SaysOnceThatDescriptorsAreOutAndAcceptsWhenThereAreSomeAgain) {
  std::vector<std::string> lines;
  Log log(
      LogLevel::kWarning, [] { return WallTime(); },
      [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  StandingIoLoop loop;
  const auto server = *Server::Start(loop, log, {.address = address_}, handler_);
  const Fd client = *StartConnect(*UnixSocketAddress(directory_.Path("s")));
  const auto accept = [&] { std::function(loop.on_ready)({.readable = true}); };
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < 100; ++i) {
    accept();
    loop.time.Advance(1s);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(server->connections(), 0U);
  accept();
  loop.time.RunUntilIdle();
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(ServerTest, EndedConnectionsAreForgotten) {
  const auto server = *Start({});
  auto connection = Connect();
  EXPECT_EQ(server->connections(), 1U);
  connection.reset();
  runner_.RunUntil([&] { return server->connections() == 0; });
}

TEST_F(ServerTest, DrainFinishesWhatIsUnderWayAndTakesNothingNew) {
  const auto server = *Start({});
  const auto connection = Connect();
  const auto idle = Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  runner_.RunUntil([&] { return !handler_.exchanges.empty(); });
  bool drained = false;
  server->Drain(10s, [&] { drained = true; });
  EXPECT_FALSE(SocketExists());
  runner_.RunUntil([&] { return !idle->usable() && server->connections() == 1; });
  EXPECT_FALSE(drained);
  Respond(*handler_.exchanges[0], 200, "text/plain", "last");
  runner_.RunUntil([&] { return drained; });
  runner_.RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.body(), "last");
}

TEST_F(ServerTest, DrainCutsOffWhatTakesTooLong) {
  const auto server = *Start({});
  const auto connection = Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  runner_.RunUntil([&] { return !handler_.exchanges.empty(); });
  bool drained = false;
  server->Drain(20ms, [&] { drained = server->connections() == 0; });
  runner_.RunUntil([&] { return drained && sink_.ended(); });
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
}

TEST_F(ServerTest, DrainWithoutConnectionsIsDoneSoonButNotAtOnce) {
  const auto server = *Start({});
  bool drained = false;
  server->Drain(10s, [&] { drained = true; });
  EXPECT_FALSE(drained);
  runner_.RunUntil([&] { return drained; });
  EXPECT_TRUE(drained);
}

TEST_F(ServerTest, DrainedCallbackMayDestroyTheServer) {
  auto server = *Start({});
  const auto connection = Connect();
  server->Drain(10s, [&] { server.reset(); });
  runner_.RunUntil([&] { return server == nullptr; });
  EXPECT_EQ(server, nullptr);
}

// Whoever can reach a program's page must not have it keep what compressed headers unpack to.
TEST_F(ServerTest, PageOfAProgramIsServedByHttp1Alone) {
  auto options = AdminServerOptions(":0");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->address, "tcp:127.0.0.1:0") << "loopback unless the operator wants more";
  EXPECT_EQ(AdminServerOptions("nowhere").status().code(), Code::kInvalidArgument);
  options->address = "unix:" + directory_.Path("s");
  const auto server = *Start(*options);
  RecordingByteSink bytes;
  const auto stream =
      MakeFdStream(runner_.loop(), *StartConnect(*UnixSocketAddress(directory_.Path("s"))));
  stream->SetSink(bytes);
  stream->Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  runner_.RunUntil([&] { return !bytes.closed.ok(); });
  EXPECT_THAT(bytes.received, StartsWith("HTTP/1.1 400 "));
}

TEST_F(ServerTest, OldAndNewHttpAreServedAtTheSameAddress) {
  const auto server = *Start({});
  const auto connection = Connect();
  const auto call = connection->Send({.path = "/new"}, sink_);
  RecordingByteSink bytes;
  const auto old =
      MakeFdStream(runner_.loop(), *StartConnect(*UnixSocketAddress(directory_.Path("s"))));
  old->SetSink(bytes);
  old->Write("GET /old HTTP/1.1\r\n\r\n");
  runner_.RunUntil([&] { return handler_.exchanges.size() == 2; });
  for (const auto& exchange : handler_.exchanges) {
    EXPECT_TRUE(exchange->peer().has_value());
    Respond(*exchange, 200, "text/plain", exchange->request().path);
  }
  runner_.RunUntil([&] { return sink_.ended() && !bytes.received.empty(); });
  EXPECT_EQ(sink_.body(), "/new");
  EXPECT_THAT(bytes.received, EndsWith("/old"));
}

}  // namespace
}  // namespace galen::net
