#include "kube/transport.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "kube/test_transport.h"
#include "net/fake_recording_sink.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

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

TEST_F(TransportTest, FailsAllThatWaitWhenTheServerCannotBeReached) {
  dialer_.refusal =
      Unavailable("dial tcp:10.0.0.1:6443: connect to tcp:10.0.0.1:6443: Connection refused");
  Create();
  const auto a = Ask(), b = Ask();
  net::RecordingSink keeps;  // its call, also past the end
  const auto call = transport_->Send({.path = "/api"}, keeps);
  loop_.Advance(10ms);
  EXPECT_EQ(keeps.ends(), 1);
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

std::string Gzip(std::string text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(TransportTest, UnpacksGzipOnTheWay) {
  const std::string text = "hello hello hello hello", packed = Gzip(text);
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

// A reader that stops at its own limit.
class SmallReader final : public net::HttpResponseSink {
 public:
  void OnHead(int, const net::Headers&) override {}
  void OnData(std::string_view bytes) override {
    read += bytes.size();
    call.reset();
  }
  void OnEnd(const Status&, const net::Headers&) override {}

  std::unique_ptr<net::HttpCall> call;
  std::size_t read = 0;
};

TEST_F(TransportTest, UnpacksNoMoreThanItsReaderWants) {
  const std::string bomb = Gzip(std::string(10'000'000, 'a'));
  answers_.AnswerNext({.body = bomb, .headers = {{"content-encoding", "gzip"}}});
  Create();
  SmallReader reader;
  reader.call = transport_->Send({.path = "/"}, reader);
  loop_.Advance(10ms);
  EXPECT_GT(reader.read, 0U);
  EXPECT_LE(reader.read, 16U * 1024) << "of 10 MB in " << bomb.size();
}

TEST_F(TransportTest, NoErrorQuotesThePasswordOfAProxy) {
  config_.proxy_url = "http://user:s3cret@proxy:99999";
  const auto created = Transport::Create(loop_, NullLog(), dialer_, files_, exec_, config_);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.status().message(), "proxy http://...@proxy:99999: \"99999\" is not a port");
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
