// The transport over real sockets: TLS, tokens, a watch, a server that goes away and comes back.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "kube/fake_exec_runner.h"
#include "kube/informer.h"
#include "kube/request.h"
#include "kube/transport.h"
#include "net/endpoint/server.h"
#include "net/test_loop_runner.h"
#include "net/tls/test_certificates.h"

namespace galen::kube {
namespace {

constexpr std::string_view kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a","resourceVersion":"7"}})";

// An API server of one Pod: lets in whoever shows the token, answers get, list and watch.
class TinyApi final : public net::HttpHandler {
 public:
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override {
    const net::HttpRequest& request = exchange->request();
    ++asked;
    if (net::FindHeader(request.headers, "authorization") != "Bearer " + token) {
      return net::Respond(*exchange, 401, "application/json",
                          R"({"kind":"Status","message":"Unauthorized"})");
    }
    if (request.path.find("watch=true") == std::string::npos) {
      const bool list = request.path.find("limit=") != std::string::npos;
      return net::Respond(*exchange, 200, "application/json",
                          list ? ListText() : std::string(kPod));
    }
    exchange->Head(200, {{"content-type", "application/json"}});
    watch = std::move(exchange);
    watch->OnGone([this] { watch.reset(); });
  }

  std::string token = "one";
  int asked = 0;
  std::unique_ptr<net::HttpExchange> watch;

 private:
  static std::string ListText() {
    return fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})", kPod);
  }
};

class TransportNetTest : public testing::Test {
 protected:
  TransportNetTest() {
    StartServer();
    config_.server = "https://" + address_.substr(4);
    config_.ca_pem = authority_.pem();
    config_.credentials.token_file = directory_.Path("token");
    PutToken("one");
  }
  void StartServer() {
    auto server = net::Server::Start(
        runner_.loop(), NullLog(),
        {.address = address_,
         .tls = net::ServerTls{certificate_.certificate_pem, certificate_.key_pem}},
        api_);
    ASSERT_TRUE(server.ok()) << ToString(server.status());
    server_ = std::move(server).value();
    address_ = server_->address();
  }
  void StopServer() {
    api_.watch.reset();
    server_.reset();
  }
  void PutToken(std::string_view token) {
    ASSERT_TRUE(files_.WriteAtomically(directory_.Path("token"), token, 0600).ok());
  }
  void Connect() {
    auto transport = Transport::Create(runner_.loop(), NullLog(), *dialer_, files_, exec_, config_);
    ASSERT_TRUE(transport.ok()) << ToString(transport.status());
    transport_ = std::move(transport).value();
    client_.emplace(runner_.loop(), *transport_);
  }
  std::string GetPod() {
    std::optional<StatusOr<Json>> result;
    const auto call =
        client_->Do(Get(kPods, "a", "p"), [&](StatusOr<Json> r) { result = std::move(r); });
    runner_.RunUntil([&] { return result.has_value(); });
    return result->ok() ? (**result)["metadata"]["name"].AsString() : ToString(result->status());
  }
  // What GetPod gives while no server is there.
  std::string NobodyIsThere() const {
    return fmt::format("Unavailable: cannot reach the API server at {}: connection refused",
                       config_.server);
  }

  TemporaryDirectory directory_;
  PosixFileSystem files_;
  FakeExecRunner exec_;
  net::TestAuthority authority_{"test"};
  const net::TestCertificate certificate_ = authority_.Issue({.addresses = {"127.0.0.1"}});
  std::string address_ = "tcp:127.0.0.1:0";
  net::LoopRunner runner_;
  TinyApi api_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Dialer> dialer_ = net::MakeDialer(runner_.loop());
  ClusterConfig config_;
  std::unique_ptr<Transport> transport_;
  std::optional<Client> client_;
};

TEST_F(TransportNetTest, GetsAnObjectOverTlsWithAToken) {
  Connect();
  EXPECT_EQ(GetPod(), "p");
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(TransportNetTest, ATokenThatWasReplacedIsNoticedByItsRefusal) {
  Connect();
  EXPECT_EQ(GetPod(), "p");
  api_.token = "two";
  EXPECT_EQ(GetPod(), "Unauthenticated: Unauthorized");
  PutToken("two");
  EXPECT_EQ(GetPod(), "p");
}

TEST_F(TransportNetTest, AServerOfAnotherAuthorityIsNotTrusted) {
  config_.ca_pem = net::TestAuthority("other").pem();
  Connect();
  const std::string result = GetPod();
  EXPECT_NE(result.find("cannot reach the API server at https://127.0.0.1:"), std::string::npos)
      << result;
  EXPECT_EQ(api_.asked, 0);
}

TEST_F(TransportNetTest, SaysPlainlyThatNobodyIsThere) {
  StopServer();
  Connect();
  EXPECT_EQ(GetPod(), NobodyIsThere());
}

TEST_F(TransportNetTest, AnInformerFollowsAServerThroughItsRestart) {
  Connect();
  Random random(1);
  int synced = 0;
  Informer<std::string> informer(runner_.loop(), *client_, random, {.resource = kPods},
                                 [](const Json& object) -> StatusOr<std::string> {
                                   return object["metadata"]["resourceVersion"].AsString();
                                 });
  informer.OnSynced([&] { ++synced; });
  informer.Start();
  runner_.RunUntil([&] { return api_.watch != nullptr; });
  EXPECT_EQ(synced, 1);

  const auto send = [&](int version) {
    api_.watch->Write(fmt::format(
        R"({{"type":"MODIFIED","object":{{"metadata":{{"name":"p","namespace":"a","resourceVersion":"{}"}}}}}})"
        "\n",
        version));
  };
  send(8);
  runner_.RunUntil([&] { return *informer.Find({"a", "p"}) == "8"; });
  EXPECT_EQ(server_->connections(), 1u) << "list and watch share one connection";

  StopServer();
  const std::string refused = NobodyIsThere();
  std::string got;
  for (int i = 0; i < 100 && got != refused; ++i) got = GetPod();
  EXPECT_EQ(got, refused) << "the client has met the server's absence";
  StartServer();
  runner_.RunUntil([&] { return api_.watch != nullptr; });
  EXPECT_NE(api_.watch->request().path.find("resourceVersion=8"), std::string::npos);
  send(9);
  runner_.RunUntil([&] { return *informer.Find({"a", "p"}) == "9"; });
}

}  // namespace
}  // namespace galen::kube
