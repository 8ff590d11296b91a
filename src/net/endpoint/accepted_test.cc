#include "net/endpoint/accepted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_memory_stream.h"
#include "net/fake_recording_sink.h"
#include "net/http2/http2_client.h"
#include "net/tls/test_certificates.h"
#include "net/tls/tls_stream.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::StartsWith;

class AcceptedTest : public ::testing::Test {
 protected:
  void Accept(Accepted::Options options = {}) {
    accepted_ = std::make_unique<Accepted>(SessionContext{.loop = loop_,
                                                          .handler = handler_,
                                                          .limits = {},
                                                          .peer = std::nullopt,
                                                          .on_end =
                                                              [this](const Status& why) {
                                                                ended_ = why;
                                                                accepted_.reset();
                                                              }},
                                           std::move(pair_.right), options);
    pair_.left->SetSink(bytes_);
  }
  void Say(std::string_view bytes) {
    pair_.left->Write(bytes);
    loop_.RunUntilIdle();
  }

  FakeLoop loop_;
  KeepingHandler handler_;
  RecordingByteSink bytes_;
  RecordingSink sink_;
  MemoryStream::Pair pair_ = MemoryStream::Make(loop_);
  Status ended_;
  std::unique_ptr<Accepted> accepted_;
};

TEST_F(AcceptedTest, Http1IsRecognizedByItsFirstByte) {
  Accept();
  Say("G");
  Say("ET / HTTP/1.1\r\n\r\n");
  ASSERT_EQ(handler_.exchanges.size(), 1U);
  Respond(*handler_.exchanges[0], 200, "text/plain", "x");
  loop_.RunUntilIdle();
  EXPECT_THAT(bytes_.received, StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(AcceptedTest, MethodThatLooksLikeThePrefaceIsHttp1) {
  Accept();
  Say("P");
  Say("UT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  ASSERT_EQ(handler_.exchanges.size(), 1U);
  EXPECT_EQ(handler_.exchanges[0]->request().method, "PUT");
}

TEST_F(AcceptedTest, Http2IsRecognizedByItsPreface) {
  Accept();
  Http2Client client(loop_, std::move(pair_.left), {.peer = "server"});
  const auto call = client.Send({.path = "/"}, sink_);
  loop_.RunUntilIdle();
  Respond(*handler_.exchanges.at(0), 200, "text/plain", "x");
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.body(), "x");
}

TEST_F(AcceptedTest, PrefaceOfHttp2IsABrokenRequestWhereOnlyHttp1IsWanted) {
  Accept({.http2 = false});
  Say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_THAT(bytes_.received, StartsWith("HTTP/1.1 400 "));
  EXPECT_TRUE(handler_.exchanges.empty());
}

TEST_F(AcceptedTest, BothAreSpokenOverTlsToo) {
  const TestAuthority authority("a");
  const TestCertificate certificate = authority.Issue({.names = {"s"}});
  const SslContext server = *MakeServerContext(
      {.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem});
  const SslContext client = *MakeClientContext({.ca_pem = authority.pem()});
  Accept({.tls = server.get()});
  const auto stream =
      TlsStream::Connect(std::move(pair_.left), client.get(), {.name = "s", .address = "s:1"},
                         [](const StatusOr<std::string>&) {});
  loop_.RunUntilIdle();
  stream->SetSink(bytes_);
  stream->Write("GET / HTTP/1.1\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_EQ(handler_.exchanges.size(), 1U);
}

TEST_F(AcceptedTest, SilentClientIsCutOff) {
  Accept({.opening_timeout = 10s});
  loop_.Advance(9s);
  EXPECT_NE(accepted_, nullptr);
  loop_.Advance(1s);
  EXPECT_EQ(accepted_, nullptr);
  EXPECT_EQ(ended_.code(), Code::kDeadlineExceeded);
}

TEST_F(AcceptedTest, ClientThatHasSpokenMayBeSilentForLong) {
  Accept();
  Http2Client client(loop_, std::move(pair_.left), {.peer = "server"});
  loop_.Advance(24h);
  EXPECT_NE(accepted_, nullptr);
  EXPECT_TRUE(client.usable());
}

TEST_F(AcceptedTest, ClientThatStopsInThePrefaceIsCutOff) {
  Accept({.opening_timeout = 10s});
  Say("PRI * HTT");
  loop_.Advance(10s);
  EXPECT_EQ(accepted_, nullptr);
}

TEST_F(AcceptedTest, ClientThatStopsInTheHandshakeIsCutOff) {
  const TestAuthority authority("a");
  const TestCertificate certificate = authority.Issue({.names = {"s"}});
  const SslContext server = *MakeServerContext(
      {.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem});
  Accept({.opening_timeout = 10s, .tls = server.get()});
  Say("\x16\x03\x01");
  loop_.Advance(10s);
  EXPECT_EQ(accepted_, nullptr);
}

TEST_F(AcceptedTest, DrainEndsAConnectionThatHasNotSpoken) {
  Accept();
  accepted_->Drain();
  loop_.RunUntilIdle();
  EXPECT_EQ(accepted_, nullptr);
}

}  // namespace
}  // namespace galen::net
