#include "net/tls/tls_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "net/tls/test_certificates.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

class TlsContextTest : public ::testing::Test {
 protected:
  const TestAuthority authority_{"authority"};
  const TestCertificate one_ = authority_.Issue({.names = {"one"}});
  const TestCertificate two_ = authority_.Issue({.names = {"two"}});
};

TEST_F(TlsContextTest, GoodTextsMakeContexts) {
  EXPECT_TRUE(MakeServerContext({.certificate_pem = one_.certificate_pem + authority_.pem(),
                                 .key_pem = one_.key_pem})
                  .ok());
  EXPECT_TRUE(MakeClientContext({.ca_pem = authority_.pem(),
                                 .certificate_pem = one_.certificate_pem,
                                 .key_pem = one_.key_pem})
                  .ok());
  EXPECT_TRUE(MakeClientContext({}).ok());  // the system's authorities
}

TEST_F(TlsContextTest, NothingOlderThanTls12IsSpoken) {
  const SslContext server =
      *MakeServerContext({.certificate_pem = one_.certificate_pem, .key_pem = one_.key_pem});
  EXPECT_EQ(SSL_CTX_get_min_proto_version(server.get()), TLS1_2_VERSION);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(MakeClientContext({})->get()), TLS1_2_VERSION);
}

TEST_F(TlsContextTest, KeyOfAnotherCertificateIsRefused) {
  const Status status =
      MakeServerContext({.certificate_pem = one_.certificate_pem, .key_pem = two_.key_pem})
          .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("does not belong to the certificate"));
}

TEST_F(TlsContextTest, TextWithoutACertificateIsRefused) {
  const Status status = MakeClientContext({.ca_pem = "not PEM"}).status();
  EXPECT_THAT(status.message(), HasSubstr("certificate authority holds no certificate"));
}

TEST_F(TlsContextTest, BrokenCertificateIsRefused) {
  std::string broken = one_.certificate_pem;
  broken.replace(100, 4, "####");
  const Status status =
      MakeServerContext({.certificate_pem = broken, .key_pem = one_.key_pem}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("broken PEM"));
}

TEST_F(TlsContextTest, MissingKeyIsRefused) {
  const Status status =
      MakeServerContext({.certificate_pem = one_.certificate_pem, .key_pem = ""}).status();
  EXPECT_THAT(status.message(), HasSubstr("not an unencrypted private key"));
}

}  // namespace
}  // namespace galen::net
