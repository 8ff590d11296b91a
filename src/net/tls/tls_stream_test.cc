#include "net/tls/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_memory_stream.h"
#include "net/tls/test_certificates.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

// Both ends of TLS over a stream in memory.
class TlsStreamTest : public ::testing::Test {
 protected:
  void Shake(const TestCertificate& certificate, TlsOptions client_options, TlsPeer peer) {
    const SslContext server_context = *MakeServerContext(
        {.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem});
    const SslContext client_context = *MakeClientContext(client_options);
    MemoryStream::Pair pair = MemoryStream::Make(loop_);
    link_ = pair.left.get();
    server_ = TlsStream::Accept(std::move(pair.left), server_context.get(),
                                [this](const StatusOr<std::string>& protocol) {
                                  server_protocol_ = protocol;
                                  server_->SetSink(server_sink_);
                                });
    client_ = TlsStream::Connect(std::move(pair.right), client_context.get(), std::move(peer),
                                 [this](const StatusOr<std::string>& protocol) {
                                   client_protocol_ = protocol;
                                   client_->SetSink(client_sink_);
                                 });
    EXPECT_FALSE(client_protocol_.has_value());
    loop_.RunUntilIdle();
  }
  void ShakeWell() {
    Shake(authority_.Issue({.names = {"api.local"}}), {.ca_pem = authority_.pem()},
          {.name = "api.local", .address = "api.local:443"});
    ASSERT_TRUE(client_protocol_->ok()) << client_protocol_->status().message();
  }
  Status Rejection() {
    EXPECT_TRUE(client_protocol_.has_value());
    return client_protocol_->status();
  }

  FakeLoop loop_;
  const TestAuthority authority_{"right authority"};
  MemoryStream* link_ = nullptr;
  RecordingByteSink server_sink_;
  RecordingByteSink client_sink_;
  std::optional<StatusOr<std::string>> server_protocol_;
  std::optional<StatusOr<std::string>> client_protocol_;
  std::unique_ptr<TlsStream> server_;
  std::unique_ptr<TlsStream> client_;
};

TEST_F(TlsStreamTest, BothEndsAgreeOnHttp2) {
  ShakeWell();
  EXPECT_EQ(**client_protocol_, "h2");
  EXPECT_EQ(**server_protocol_, "h2");
}

TEST_F(TlsStreamTest, BytesGoBothWaysUnharmed) {
  ShakeWell();
  std::string big;
  for (int i = 0; i < 300'000; ++i) big += static_cast<char>(i * 7);
  client_->Write(big);
  server_->Write("answer");
  loop_.RunUntilIdle();
  EXPECT_TRUE(server_sink_.received == big);
  EXPECT_EQ(client_sink_.received, "answer");
}

TEST_F(TlsStreamTest, SlowReaderShowsAtTheWriterAndLaterDrains) {
  ShakeWell();
  link_->SetReading(false);
  client_->Write(std::string(300'000, 'x'));
  loop_.RunUntilIdle();
  EXPECT_GT(client_->unsent(), 100'000U);
  link_->SetReading(true);
  loop_.RunUntilIdle();
  EXPECT_EQ(client_->unsent(), 0U);
  EXPECT_EQ(client_sink_.writable, 1);
}

TEST_F(TlsStreamTest, GoodbyeIsTheEnd) {
  ShakeWell();
  client_->Write("last");
  client_.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_sink_.received, "last");
  EXPECT_EQ(server_sink_.closed, Unavailable("the peer closed the connection"));
}

// The peer's socket ends behind its goodbye, which is an end by itself.
TEST_F(TlsStreamTest, TheEndIsReportedOnce) {
  ShakeWell();
  client_.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_sink_.ends, 1);
}

TEST_F(TlsStreamTest, UnknownAuthorityIsNamed) {
  const TestAuthority other("other authority");
  Shake(other.Issue({.names = {"api.local"}}), {.ca_pem = authority_.pem()},
        {.name = "api.local", .address = "127.0.0.1:6443"});
  EXPECT_EQ(Rejection().code(), Code::kUnauthenticated);
  EXPECT_THAT(Rejection().message(),
              HasSubstr("certificate of 127.0.0.1:6443 is signed by an unknown authority "
                        "(CN = other authority)"));
  EXPECT_FALSE(server_protocol_->ok());
}

TEST_F(TlsStreamTest, WrongNameIsToldWithTheRightOnes) {
  Shake(authority_.Issue({.names = {"api.local"}, .addresses = {"10.0.0.1", "::1"}}),
        {.ca_pem = authority_.pem()}, {.name = "other.local", .address = "other.local:443"});
  EXPECT_THAT(Rejection().message(),
              HasSubstr("is for api.local, 10.0.0.1, ::1, not for other.local"));
}

TEST_F(TlsStreamTest, AddressMustStandInTheCertificateToo) {
  Shake(authority_.Issue({.addresses = {"10.0.0.1"}}), {.ca_pem = authority_.pem()},
        {.name = "10.0.0.2", .address = "10.0.0.2:443"});
  EXPECT_THAT(Rejection().message(), HasSubstr("is for 10.0.0.1, not for 10.0.0.2"));
}

TEST_F(TlsStreamTest, AddressThatStandsInTheCertificateIsAccepted) {
  Shake(authority_.Issue({.addresses = {"::1"}}), {.ca_pem = authority_.pem()},
        {.name = "::1", .address = "[::1]:443"});
  EXPECT_TRUE(client_protocol_->ok());
}

TEST_F(TlsStreamTest, ServersOwnCertificateMayBeTrustedWithoutItsAuthority) {
  const TestCertificate certificate = authority_.Issue({.names = {"a"}});
  Shake(certificate, {.ca_pem = certificate.certificate_pem}, {.name = "a", .address = "a:443"});
  EXPECT_TRUE(client_protocol_->ok()) << client_protocol_->status().message();
}

TEST_F(TlsStreamTest, CommonNameIsNoName) {
  Shake(authority_.Issue({}), {.ca_pem = authority_.pem()}, {.name = "leaf", .address = "a:443"});
  EXPECT_THAT(Rejection().message(), HasSubstr("is for nobody by name, not for leaf"));
}

TEST_F(TlsStreamTest, ExpiredCertificateSaysWhen) {
  Shake(authority_.Issue({.names = {"a"}, .valid_until = std::chrono::minutes(-5)}),
        {.ca_pem = authority_.pem()}, {.name = "a", .address = "a:443"});
  EXPECT_EQ(Rejection().code(), Code::kUnauthenticated);
  EXPECT_THAT(Rejection().message(), HasSubstr("certificate of a:443 expired on "));
}

TEST_F(TlsStreamTest, CertificateOfTomorrowSaysSo) {
  Shake(authority_.Issue({.names = {"a"}, .valid_from = std::chrono::minutes(30)}),
        {.ca_pem = authority_.pem()}, {.name = "a", .address = "a:443"});
  EXPECT_THAT(Rejection().message(), HasSubstr("is not valid before "));
}

TEST_F(TlsStreamTest, VerificationCanBeSwitchedOff) {
  const TestAuthority other("other authority");
  Shake(other.Issue({.names = {"x"}}), {.skip_verification = true},
        {.name = "api.local", .address = "a:443", .skip_verification = true});
  EXPECT_TRUE(client_protocol_->ok());
}

TEST_F(TlsStreamTest, PlainTextIsNoTls) {
  const SslContext context = *MakeClientContext({.ca_pem = authority_.pem()});
  MemoryStream::Pair pair = MemoryStream::Make(loop_);
  RecordingByteSink plain;
  pair.left->SetSink(plain);
  client_ =
      TlsStream::Connect(std::move(pair.right), context.get(), {.name = "a", .address = "a:443"},
                         [this](const StatusOr<std::string>& protocol) {
                           client_protocol_ = protocol;
                           client_.reset();  // from within its own callback
                         });
  pair.left->Write("HTTP/1.1 400 Bad Request\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_EQ(Rejection().code(), Code::kFailedPrecondition);
  EXPECT_THAT(Rejection().message(), HasSubstr("does not use TLS"));
}

TEST_F(TlsStreamTest, PeerThatHangsUpInTheHandshakeIsAnError) {
  const SslContext context = *MakeClientContext({.ca_pem = authority_.pem()});
  MemoryStream::Pair pair = MemoryStream::Make(loop_);
  client_ = TlsStream::Connect(
      std::move(pair.right), context.get(), {.name = "a", .address = "a:443"},
      [this](const StatusOr<std::string>& protocol) { client_protocol_ = protocol; });
  pair.left.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(Rejection().code(), Code::kUnavailable);
  EXPECT_THAT(Rejection().message(), HasSubstr("TLS handshake"));
}

}  // namespace
}  // namespace galen::net
