#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include "net/tls/tls_stream.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

// With certificates at hand the sentences are tested where TLS makes them, in tls_stream_test.
TEST(CertificateFault, IsDescribedEvenWithoutACertificateAtHand) {
  EXPECT_THAT(DescribeCertificateFault(X509_V_ERR_CERT_HAS_EXPIRED, nullptr, "a"),
              HasSubstr("expired on ?"));
  EXPECT_THAT(DescribeCertificateFault(X509_V_ERR_HOSTNAME_MISMATCH, nullptr, "a"),
              HasSubstr("not for a"));
}

TEST(CertificateFault, RareFaultsKeepTheLibrarysWords) {
  EXPECT_THAT(DescribeCertificateFault(X509_V_ERR_CERT_REVOKED, nullptr, "a"),
              HasSubstr("revoked"));
}

}  // namespace
}  // namespace galen::net
