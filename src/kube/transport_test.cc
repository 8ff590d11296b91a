#include "kube/transport.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "base/fake_file_system.h"
#include "base/fake_loop.h"
#include "kube/fake_dialer.h"
#include "kube/fake_exec_runner.h"
#include "kube/fake_transport.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

// One request and what came of it.
struct Asked final : net::HttpResponseSink {
  void OnHead(int status, const net::Headers& headers) override {
    text += std::to_string(status) + " ";
    head = headers;
  }
  void OnData(std::string_view bytes) override { text += bytes; }
  void OnEnd(const Status& status, const net::Headers&) override {
    end = status;
    text += status.ok() ? "." : "!";
    call.reset();
  }

  std::string text;
  net::Headers head;
  Status end;
  std::unique_ptr<net::HttpCall> call;
};

class TransportTest : public testing::Test {
 protected:
  TransportTest() { config_.server = "https://10.0.0.1:6443/k8s"; }

  void Create() {
    auto created = Transport::Create(loop_, NullLog(), dialer_, files_, exec_, config_);
    ASSERT_TRUE(created.ok()) << ToString(created.status());
    transport_ = std::move(created).value();
  }
  std::unique_ptr<Asked> Ask(std::string path = "/api") {
    auto asked = std::make_unique<Asked>();
    net::HttpRequest request;
    request.path = std::move(path);
    asked->call = transport_->Send(std::move(request), *asked);
    return asked;
  }
  std::string SentHeader(std::size_t request, std::string_view name) const {
    const auto value = net::FindHeader(answers_.requests().at(request).headers, name);
    return value ? std::string(*value) : "none";
  }
  void Put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0600).ok());
  }
  std::string Token(std::string_view token) const {
    return fmt::format(
        R"({{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
        R"("status":{{"token":"{}"}}}})",
        token);
  }
  void UsePlugin() {
    config_.credentials.exec =
        ExecPlugin{.api_version = "client.authentication.k8s.io/v1", .command = {"login"}};
  }

  FakeLoop loop_;
  FakeTransport answers_{loop_};
  FakeDialer dialer_{loop_, answers_};
  FakeFileSystem files_;
  FakeExecRunner exec_;
  ClusterConfig config_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(TransportTest, DialsAtTheFirstRequestAndUsesOneConnectionForAll) {
  Create();
  loop_.Advance(1h);
  EXPECT_TRUE(dialer_.dials.empty());
  const auto a = Ask(), b = Ask();
  loop_.Advance(10ms);
  const auto c = Ask();
  EXPECT_EQ(dialer_.dials.size(), 1u);
  EXPECT_EQ(dialer_.connections.at(0)->sent, 3);
  answers_.Head(1);
  answers_.Data(1, "b");
  answers_.End(1);
  EXPECT_EQ(b->text, "200 b.");
  EXPECT_EQ(a->text, "");
}

TEST_F(TransportTest, SaysWhoItIsAndWhereItGoes) {
  config_.credentials.token = "t";
  config_.ca_pem = "ca";
  Create();
  const auto asked = Ask("/api/v1/pods?limit=1");
  loop_.Advance(10ms);
  EXPECT_EQ(answers_.requests()[0].path, "/k8s/api/v1/pods?limit=1");
  EXPECT_EQ(SentHeader(0, "authorization"), "Bearer t");
  EXPECT_EQ(SentHeader(0, "accept-encoding"), "gzip");
  EXPECT_TRUE(SentHeader(0, "user-agent").starts_with("galen/"));
  EXPECT_EQ(dialer_.dials[0].target, "tcp:10.0.0.1:6443");
  EXPECT_EQ(dialer_.dials[0].authority, "10.0.0.1:6443");
  EXPECT_EQ(dialer_.dials[0].ping_after, Transport::kPingAfter);
  ASSERT_TRUE(dialer_.dials[0].tls.has_value());
  EXPECT_EQ(dialer_.dials[0].tls->server_name, "10.0.0.1");
  EXPECT_EQ(dialer_.dials[0].tls->ca_pem, "ca");
}

TEST_F(TransportTest, PlainHttpHasNoTls) {
  config_.server = "http://localhost:8001";
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_FALSE(dialer_.dials.at(0).tls.has_value());
}

TEST_F(TransportTest, DialsAsTheConfigurationSays) {
  Put("/pki/ca", "ca 1");
  Put("/pki/cert", "cert 1");
  Put("/pki/key", "key 1");
  config_.ca_file = "/pki/ca";
  config_.credentials.certificate_file = "/pki/cert";
  config_.credentials.key_file = "/pki/key";
  config_.tls_server_name = "api.internal";
  config_.skip_verification = true;
  config_.proxy_url = "http://us%40er:pw@proxy:3128";
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  const net::DialOptions& dial = dialer_.dials.at(0);
  EXPECT_EQ(dial.tls->server_name, "api.internal");
  EXPECT_EQ(dial.tls->ca_pem, "ca 1");
  EXPECT_EQ(dial.tls->certificate_pem, "cert 1");
  EXPECT_EQ(dial.tls->key_pem, "key 1");
  EXPECT_TRUE(dial.tls->skip_verification);
  EXPECT_EQ(dial.proxy, "tcp:proxy:3128");
  EXPECT_EQ(dial.proxy_authorization, "Basic dXNAZXI6cHc=");

  Put("/pki/cert", "cert 2");
  dialer_.connections[0]->closed(Unavailable("reset"));
  const auto again = Ask();
  loop_.Advance(1s);
  EXPECT_EQ(dialer_.dials.at(1).tls->certificate_pem, "cert 2") << "read again for each connection";
}

TEST_F(TransportTest, RefusesAConfigurationThatCannotWork) {
  config_.server = "10.0.0.1:6443";
  EXPECT_FALSE(Transport::Create(loop_, NullLog(), dialer_, files_, exec_, config_).ok());
  config_.server = "https://a";
  config_.proxy_url = "https://proxy";
  EXPECT_FALSE(Transport::Create(loop_, NullLog(), dialer_, files_, exec_, config_).ok());
}

TEST_F(TransportTest, TellsAllThatWaitThatTheServerCannotBeReached) {
  dialer_.refusal =
      Unavailable("dial tcp:10.0.0.1:6443: connect to tcp:10.0.0.1:6443: Connection refused");
  Create();
  const auto a = Ask(), b = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(
      ToString(a->end),
      "Unavailable: cannot reach the API server at https://10.0.0.1:6443/k8s: connection refused");
  EXPECT_EQ(b->end, a->end);
  EXPECT_TRUE(IsUnreachable(a->end));
  EXPECT_FALSE(IsUnreachable(Unavailable("something else")));
}

TEST_F(TransportTest, DialsWithBackoffWhileTheServerIsAway) {
  dialer_.refusal = Unavailable("connection refused");
  Create();
  std::vector<std::unique_ptr<Asked>> asked;
  for (int i = 0; i < 600; ++i) {
    asked.push_back(Ask());
    loop_.Advance(100ms);
  }
  EXPECT_LT(dialer_.dials.size(), 30u) << "a storm in one minute";
  EXPECT_GT(dialer_.dials.size(), 10u) << "found late when it is back";
  dialer_.refusal = OkStatus();
  const auto last = Ask();
  loop_.Advance(6s);
  EXPECT_EQ(dialer_.alive, 1);
}

TEST_F(TransportTest, DialsAtOnceWhenAConnectionThatWorkedIsLost) {
  answers_.AnswerNext({.body = "x"});
  Create();
  const auto a = Ask();
  loop_.Advance(10ms);
  const auto b = Ask();
  answers_.End(1, Unavailable("reset"));
  dialer_.connections[0]->closed(Unavailable("reset"));
  EXPECT_EQ(ToString(b->end), "Unavailable: API server https://10.0.0.1:6443/k8s: reset");
  const auto c = Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(dialer_.dials.size(), 2u);
  EXPECT_EQ(dialer_.alive, 0) << "the lost one is dropped";
  loop_.Advance(10ms);
  EXPECT_EQ(dialer_.connections[1]->sent, 1);
}

TEST_F(TransportTest, AConnectionThatNeverAnswersCountsAsAFailedDial) {
  Create();
  for (int i = 0; i < 50; ++i) {
    const auto asked = Ask();
    loop_.Advance(10ms);
    if (dialer_.alive == 0) continue;
    asked->call.reset();
    dialer_.connections.back()->closed(Unavailable("reset"));
    loop_.RunUntilIdle();
  }
  EXPECT_LT(dialer_.dials.size(), 10u);
}

TEST_F(TransportTest, WhenTheServerSaysGoawayNewCallsTakeANewConnection) {
  Create();
  const auto watch = Ask("/watch");
  loop_.Advance(10ms);
  answers_.Head(0);
  dialer_.connections[0]->good = false;
  const auto next = Ask("/next");
  loop_.Advance(10ms);
  ASSERT_EQ(dialer_.connections.size(), 2u);
  EXPECT_EQ(dialer_.connections[1]->sent, 1);
  EXPECT_EQ(dialer_.alive, 2) << "the old call goes on";
  answers_.Data(0, "event");
  answers_.End(0);
  EXPECT_EQ(watch->text, "200 event.");
  loop_.RunUntilIdle();
  EXPECT_EQ(dialer_.alive, 1);
}

TEST_F(TransportTest, UnpacksGzipOnTheWay) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(256, '\0'), text = "hello hello hello hello";
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  const net::Headers gzip = {{"content-encoding", "gzip"}, {"content-length", "9"}, {"x", "y"}};
  answers_.AnswerNext({.body = packed, .headers = gzip});
  answers_.AnswerNext({.body = packed.substr(0, packed.size() / 2), .headers = gzip});
  answers_.AnswerNext({.body = "plain", .headers = gzip});
  Create();
  const auto whole = Ask(), cut = Ask(), wrong = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(whole->text, "200 " + text + ".");
  EXPECT_EQ(whole->head, (net::Headers{{"x", "y"}}));
  EXPECT_EQ(cut->end.code(), Code::kDataLoss);
  EXPECT_EQ(wrong->text, "200 !");
}

TEST_F(TransportTest, WaitsForAPluginAndRunsItOnce) {
  UsePlugin();
  Create();
  const auto a = Ask(), b = Ask();
  loop_.Advance(1s);
  EXPECT_EQ(exec_.plugins().size(), 1u);
  EXPECT_TRUE(dialer_.dials.empty());
  exec_.Finish(Token("one"));
  loop_.Advance(10ms);
  EXPECT_EQ(SentHeader(0, "authorization"), "Bearer one");
  EXPECT_EQ(SentHeader(1, "authorization"), "Bearer one");
}

TEST_F(TransportTest, TellsAllThatWaitWhenAPluginFails) {
  UsePlugin();
  exec_.AnswerNext(Unauthenticated("ended with exit code 1"));
  Create();
  const auto asked = Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(ToString(asked->end),
            "Unauthenticated: credential plugin \"login\": ended with exit code 1");
}

TEST_F(TransportTest, TriesOnceMoreWithNewCredentialsAfterA401) {
  UsePlugin();
  exec_.AnswerNext(Token("one"));
  exec_.AnswerNext(Token("two"));
  answers_.AnswerNext({.status = 401, .body = "go away"});
  answers_.AnswerNext({.body = "welcome"});
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(asked->text, "200 welcome.");
  EXPECT_EQ(SentHeader(1, "authorization"), "Bearer two");
}

TEST_F(TransportTest, ShowsARotatedCertificateAfterA401) {
  Put("/pki/cert", "cert 1");
  Put("/pki/key", "key 1");
  config_.credentials.certificate_file = "/pki/cert";
  config_.credentials.key_file = "/pki/key";
  answers_.AnswerNext({.body = "welcome"});
  answers_.AnswerNext({.status = 401, .body = "expired"});
  answers_.AnswerNext({.body = "welcome again"});
  answers_.AnswerNext({.status = 401, .body = "no"});
  Create();
  const auto first = Ask();
  loop_.Advance(10ms);
  Put("/pki/cert", "cert 2");
  const auto second = Ask();
  loop_.Advance(20ms);
  EXPECT_EQ(second->text, "200 welcome again.");
  ASSERT_EQ(dialer_.dials.size(), 2u);
  EXPECT_EQ(dialer_.dials[1].tls->certificate_pem, "cert 2");
  const auto third = Ask();
  loop_.Advance(20ms);
  EXPECT_EQ(third->text, "401 no.") << "the files hold nothing newer";
  EXPECT_EQ(dialer_.dials.size(), 2u);
}

TEST_F(TransportTest, RunsAPluginWhoseAnswersHaveExpiredOnceForManyCalls) {
  UsePlugin();
  const std::string past = FormatRfc3339(loop_.WallNow() - 1h);
  const std::string expired =
      Token("one\",\"expirationTimestamp\":\"" + past);  // closes the quotes of the token
  for (int i = 0; i < 5; ++i) exec_.AnswerNext(expired);
  answers_.AnswerNext({.body = "a"});
  answers_.AnswerNext({.body = "b"});
  Create();
  const auto a = Ask(), b = Ask();
  loop_.Advance(1s);
  EXPECT_EQ(a->text, "200 a.");
  EXPECT_EQ(b->text, "200 b.");
  EXPECT_EQ(exec_.plugins().size(), 1u);
}

TEST_F(TransportTest, PassesASecond401On) {
  UsePlugin();
  exec_.AnswerNext(Token("one"));
  exec_.AnswerNext(Token("two"));
  answers_.AnswerNext({.status = 401});
  answers_.AnswerNext({.status = 401, .body = "no"});
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(asked->text, "401 no.");
  EXPECT_EQ(answers_.requests().size(), 2u);
}

TEST_F(TransportTest, PassesA401OnWhenThereIsNothingElseToShow) {
  config_.credentials.token = "t";
  answers_.AnswerNext({.status = 401});
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(asked->text, "401 .");
}

TEST_F(TransportTest, ACancelledCallIsForgottenWhereverItIs) {
  Create();
  auto waiting = Ask();
  waiting.reset();
  loop_.Advance(1s);
  EXPECT_TRUE(answers_.requests().empty());

  auto sent = Ask();
  loop_.Advance(1s);
  ASSERT_EQ(answers_.requests().size(), 1u);
  sent.reset();
  EXPECT_FALSE(answers_.open(0));
}

TEST_F(TransportTest, ACallThatAsksAgainFromItsEndIsServed) {
  dialer_.refusal = Unavailable("refused");
  Create();
  // Ends with the first dial and asks again at once; that must not end in the same round.
  struct Again final : net::HttpResponseSink {
    explicit Again(Transport& transport) : transport_(transport) { Send(); }
    void Send() { call = transport_.Send({}, *this); }
    void OnHead(int, const net::Headers&) override {}
    void OnData(std::string_view) override {}
    void OnEnd(const Status&, const net::Headers&) override {
      ++ends;
      Send();
    }
    int ends = 0;
    std::unique_ptr<net::HttpCall> call;

   private:
    Transport& transport_;
  } again(*transport_);
  loop_.Advance(10ms);
  EXPECT_EQ(again.ends, 1);
  loop_.Advance(1s);
  EXPECT_GT(again.ends, 1);
}

TEST_F(TransportTest, BoundsHowManyWait) {
  dialer_.delay = 1h;
  Create();
  std::vector<std::unique_ptr<Asked>> asked;
  for (std::size_t i = 0; i <= Transport::kWaitingCallsMax; ++i) asked.push_back(Ask());
  loop_.Advance(1s);
  EXPECT_EQ(asked.front()->end, OkStatus());
  EXPECT_EQ(asked.back()->end.code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace galen::kube
