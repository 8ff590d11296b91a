// Tested by http_contract_test.cc, which uses it: it is nothing but support of tests.
#include "net/endpoint/test_contract_world.h"

#include <utility>

#include "base/check.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/fake_loop.h"
#include "net/endpoint/server.h"
#include "net/fake_link.h"
#include "net/test_loop_runner.h"
#include "net/tls/test_certificates.h"

namespace galen::net {
namespace {

using DialDone = std::function<void(StatusOr<std::unique_ptr<Connection>>)>;

// A real server and dialer over a unix socket.
class SocketWorld final : public ContractWorld {
 public:
  Loop& loop() override { return runner_.loop(); }
  void RunUntil(const std::function<bool()>& done) override { runner_.RunUntil(done); }
  void Listen(HttpHandler& handler) override {
    server_ = *Server::Start(runner_.loop(), NullLog(), {.address = address_}, handler);
  }
  void StopServer() override { server_.reset(); }
  std::unique_ptr<Dialling> Dial(DialDone done) override {
    return dialer_->Dial({.target = address_}, std::move(done));
  }

 private:
  TemporaryDirectory directory_;
  const std::string address_ = "unix:" + directory_.Path("s");
  LoopRunner runner_;
  std::unique_ptr<Dialer> dialer_ = MakeDialer(runner_.loop());
  std::unique_ptr<Server> server_;
};

// A real server and dialer over TLS on the loopback address.
class TlsWorld final : public ContractWorld {
 public:
  Loop& loop() override { return runner_.loop(); }
  void RunUntil(const std::function<bool()>& done) override { runner_.RunUntil(done); }
  void Listen(HttpHandler& handler) override {
    server_ = *Server::Start(runner_.loop(), NullLog(),
                             {.address = address_,
                              .tls = ServerTls{.certificate_pem = certificate_.certificate_pem,
                                               .key_pem = certificate_.key_pem}},
                             handler);
    address_ = server_->address();  // the next server gets the same port
  }
  void StopServer() override { server_.reset(); }
  std::unique_ptr<Dialling> Dial(DialDone done) override {
    return dialer_->Dial({.target = address_, .tls = TlsOptions{.ca_pem = authority_.pem()}},
                         std::move(done));
  }

 private:
  TestAuthority authority_{"test"};
  const TestCertificate certificate_ = authority_.Issue({.addresses = {"127.0.0.1"}});
  std::string address_ = "tcp:127.0.0.1:0";
  LoopRunner runner_;
  std::unique_ptr<Dialer> dialer_ = MakeDialer(runner_.loop());
  std::unique_ptr<Server> server_;
};

// The fake network with a little delay.
class FakeWorld final : public ContractWorld {
 public:
  Loop& loop() override { return loop_; }
  void RunUntil(const std::function<bool()>& done) override {
    for (int i = 0; !done(); ++i) {
      GALEN_CHECK(i < kStepsMax);
      loop_.Advance(std::chrono::milliseconds(1));
    }
  }
  void Listen(HttpHandler& handler) override { network_.Listen(kTarget, handler); }
  void StopServer() override { network_.StopListening(kTarget); }
  std::unique_ptr<Dialling> Dial(DialDone done) override {
    return dialer_->Dial({.target = kTarget}, std::move(done));
  }

 private:
  static constexpr const char* kTarget = "unix:/s";
  static constexpr int kStepsMax = 10'000;

  FakeLoop loop_;
  Random random_{1};
  const LinkWeather weather_{.delay_least = std::chrono::milliseconds(1),
                             .delay_most = std::chrono::milliseconds(3)};
  FakeNetwork network_{loop_, random_};
  std::unique_ptr<Dialer> dialer_ = network_.MakeDialer(weather_);
};

}  // namespace

std::unique_ptr<ContractWorld> ContractWorld::Make(Kind kind) {
  switch (kind) {
    case Kind::kUnixSocket:
      return std::make_unique<SocketWorld>();
    case Kind::kTls:
      return std::make_unique<TlsWorld>();
    case Kind::kFakeNetwork:
      return std::make_unique<FakeWorld>();
  }
  GALEN_UNREACHABLE();
}

std::unique_ptr<Connection> ContractWorld::Connect() {
  std::unique_ptr<Connection> connection;
  const auto dialling = Dial([&](StatusOr<std::unique_ptr<Connection>> result) {
    GALEN_CHECK(result.ok());
    connection = *std::move(result);
  });
  RunUntil([&] { return connection != nullptr; });
  return connection;
}

std::string ToString(ContractWorld::Kind kind) {
  switch (kind) {
    case ContractWorld::Kind::kUnixSocket:
      return "UnixSocket";
    case ContractWorld::Kind::kTls:
      return "Tls";
    case ContractWorld::Kind::kFakeNetwork:
      return "FakeNetwork";
  }
  GALEN_UNREACHABLE();
}

}  // namespace galen::net
