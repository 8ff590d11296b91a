#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include <memory>

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

TEST(CertificateFault, AnAddressOfAnOddLengthIsNotRead) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> three_bytes(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DER:30:05:87:03:0a:00:01"),
      &X509_EXTENSION_free);
  ASSERT_EQ(X509_add_ext(certificate.get(), three_bytes.get(), -1), 1);
  EXPECT_EQ(DescribeCertificateFault(X509_V_ERR_IP_ADDRESS_MISMATCH, certificate.get(), "a"),
            "is for ?, not for a");
}

TEST(CertificateFault, RareFaultsKeepTheLibrarysWords) {
  EXPECT_THAT(DescribeCertificateFault(X509_V_ERR_CERT_REVOKED, nullptr, "a"),
              HasSubstr("revoked"));
}

}  // namespace
}  // namespace galen::net
