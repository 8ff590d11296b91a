// Dialling real sockets: names, proxies, TLS and what can go wrong before a connection stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "base/files/test_temporary_directory.h"
#include "net/connection.h"
#include "net/endpoint/server.h"
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
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DialerTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<Connection>> Dial(DialOptions options) {
    std::optional<StatusOr<std::unique_ptr<Connection>>> outcome;
    const auto dialling =
        dialer_->Dial(std::move(options), [&](auto result) { outcome.emplace(std::move(result)); });
    EXPECT_FALSE(outcome.has_value());
    runner_.RunUntil([&] { return outcome.has_value(); });
    return *std::move(outcome);
  }
  std::unique_ptr<Server> StartTls(const TestCertificate& certificate) {
    return *Server::Start(runner_.loop(), NullLog(),
                          {.address = "tcp:127.0.0.1:0",
                           .tls = ServerTls{.certificate_pem = certificate.certificate_pem,
                                            .key_pem = certificate.key_pem}},
                          handler_);
  }
  // A listener that accepts nobody, but whose queue the kernel fills.
  Fd Deaf() { return *ListenTcp(*NumericSocketAddress("127.0.0.1", 0)); }

  const TemporaryDirectory directory_;
  const TestAuthority authority_{"authority"};
  LoopRunner runner_;
  KeepingHandler handler_;
  const std::unique_ptr<Dialer> dialer_ = MakeDialer(runner_.loop());
};

TEST_F(DialerTest, ASocketThatIsNotThereIsNamedOnce) {
  const std::string target = "unix:" + directory_.Path("none");
  const auto connection = Dial({.target = target});
  EXPECT_EQ(connection.status().message(), "dial " + target + ": No such file or directory");
}

TEST_F(DialerTest, NamesAreResolvedAndVerified) {
  const auto server = StartTls(authority_.Issue({.names = {"localhost"}}));
  const std::string port = server->address().substr(server->address().rfind(':'));
  const auto connection =
      Dial({.target = "tcp:localhost" + port, .tls = TlsOptions{.ca_pem = authority_.pem()}});
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  RecordingSink sink;
  const auto call = (*connection)->Send({.path = "/"}, sink);
  runner_.RunUntil([&] { return !handler_.exchanges.empty(); });
}

TEST_F(DialerTest, ServerNameMayDifferFromWhereItIsDialled) {
  const auto server = StartTls(authority_.Issue({.names = {"kubernetes"}}));
  EXPECT_TRUE(Dial({.target = server->address(),
                    .tls = TlsOptions{.server_name = "kubernetes", .ca_pem = authority_.pem()}})
                  .ok());
  const Status wrong =
      Dial({.target = server->address(), .tls = TlsOptions{.ca_pem = authority_.pem()}}).status();
  EXPECT_EQ(wrong.code(), Code::kUnauthenticated);
  EXPECT_THAT(wrong.message(), HasSubstr("is for kubernetes, not for 127.0.0.1"));
}

TEST_F(DialerTest, UnknownAuthorityIsToldWithTheServersAddress) {
  const TestAuthority other("other");
  const auto server = StartTls(other.Issue({.addresses = {"127.0.0.1"}}));
  const Status status =
      Dial({.target = server->address(), .tls = TlsOptions{.ca_pem = authority_.pem()}}).status();
  EXPECT_THAT(status.message(),
              StartsWith("dial " + server->address() + ": certificate of " +
                         server->address().substr(4) + " is signed by an unknown authority"));
}

TEST_F(DialerTest, SilentServerEndsTheDialInTime) {
  const Fd deaf = Deaf();
  const Status status =
      Dial({.target = ToString(*BoundAddress(deaf.get())), .connect_timeout = 30ms}).status();
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
}

TEST_F(DialerTest, Http1ServerIsNoPeer) {
  const Fd listener = Deaf();
  const std::string address = ToString(*BoundAddress(listener.get()));
  std::optional<Status> status;
  const auto dialling =
      dialer_->Dial({.target = address}, [&](auto result) { status = result.status(); });
  StatusOr<std::optional<Fd>> accepted = std::optional<Fd>();
  runner_.RunUntil([&] {
    accepted = AcceptNext(listener.get());
    return accepted.ok() && accepted->has_value();
  });
  RecordingByteSink bytes;
  const auto old = MakeFdStream(runner_.loop(), *std::move(*accepted));
  old->SetSink(bytes);
  old->Write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  runner_.RunUntil([&] { return status.has_value(); });
  EXPECT_EQ(status->code(), Code::kUnavailable);
  EXPECT_THAT(status->message(), HasSubstr(address));
}

TEST_F(DialerTest, MistakesOfTheCallerAreNotRetried) {
  EXPECT_EQ(Dial({.target = "nonsense"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Dial({.target = "unix:/s", .tls = TlsOptions{}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Dial({.target = "unix:/s", .proxy = "tcp:127.0.0.1:1"}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(
      Dial({.target = "tcp:127.0.0.1:1", .tls = TlsOptions{.ca_pem = "none"}}).status().code(),
      Code::kInvalidArgument);
}

// A proxy for one tunnel, in the simplest form that works.
class OneTunnelProxy final : public ByteStream::Sink {
 public:
  explicit OneTunnelProxy(LoopRunner& runner) : runner_(runner) {}

  std::string address() const { return ToString(*BoundAddress(listener_.get())); }
  const std::string& asked() const { return asked_; }

  // Accepts the client and connects it with `target` once it has asked.
  void Serve(const SocketAddress& target) {
    runner_.RunUntil([&] {
      StatusOr<std::optional<Fd>> fd = AcceptNext(listener_.get());
      if (!fd.ok() || !fd->has_value()) return false;
      client_ = MakeFdStream(runner_.loop(), *std::move(*fd));
      return true;
    });
    client_->SetSink(*this);
    runner_.RunUntil([&] { return asked_.ends_with("\r\n\r\n"); });
    server_ = MakeFdStream(runner_.loop(), *StartConnect(target));
    back_.emplace(*client_);
    server_->SetSink(*back_);
    client_->Write("HTTP/1.1 200 OK\r\n\r\n");
  }

  void OnBytes(std::string_view bytes) override {
    if (server_ == nullptr) {
      asked_.append(bytes);
    } else {
      server_->Write(bytes);
    }
  }
  void OnWritable() override {}
  void OnClosed(const Status&) override { server_.reset(); }

 private:
  class Back final : public ByteStream::Sink {
   public:
    explicit Back(ByteStream& client) : client_(client) {}
    void OnBytes(std::string_view bytes) override { client_.Write(bytes); }
    void OnWritable() override {}
    void OnClosed(const Status&) override {}

   private:
    ByteStream& client_;
  };

  LoopRunner& runner_;
  const Fd listener_ = *ListenTcp(*NumericSocketAddress("127.0.0.1", 0));
  std::string asked_;
  std::unique_ptr<ByteStream> client_;
  std::optional<Back> back_;
  std::unique_ptr<ByteStream> server_;
};

TEST_F(DialerTest, ProxyCarriesTheConnectionAndTlsIsStillVerified) {
  const auto server = StartTls(authority_.Issue({.addresses = {"127.0.0.1"}}));
  OneTunnelProxy proxy(runner_);
  std::unique_ptr<Connection> connection;
  const auto dialling = dialer_->Dial({.target = server->address(),
                                       .tls = TlsOptions{.ca_pem = authority_.pem()},
                                       .proxy = proxy.address(),
                                       .proxy_authorization = "Basic eDp5"},
                                      [&](auto result) {
                                        ASSERT_TRUE(result.ok()) << result.status().message();
                                        connection = *std::move(result);
                                      });
  const std::string host = server->address().substr(4);
  const auto port = static_cast<std::uint16_t>(std::stoi(host.substr(host.rfind(':') + 1)));
  proxy.Serve(*NumericSocketAddress("127.0.0.1", port));
  runner_.RunUntil([&] { return connection != nullptr; });
  EXPECT_THAT(proxy.asked(), StartsWith("CONNECT " + host + " HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.asked(), HasSubstr("Proxy-Authorization: Basic eDp5"));
  RecordingSink sink;
  const auto call = connection->Send({.path = "/"}, sink);
  runner_.RunUntil([&] { return !handler_.exchanges.empty(); });
  Respond(*handler_.exchanges[0], 200, "text/plain", "through");
  runner_.RunUntil([&] { return sink.ended(); });
  EXPECT_EQ(sink.body(), "through");
}

}  // namespace
}  // namespace galen::net
