#include "cluster_sim/app/certificate_authority.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace galen::cluster_sim {
namespace {

using std::chrono_literals::operator""h;

const WallTime kIssueTime{std::chrono::hours(500'000)};

using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;

CertificatePtr Read(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  CertificatePtr certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), X509_free);
  BIO_free(bio);
  return certificate;
}

// What OpenSSL says of `leaf` for one who trusts only `authority`, at `when`.
std::string Verify(const std::string& authority, const std::string& leaf, int purpose,
                   WallTime when) {
  const CertificatePtr root = Read(authority);
  const CertificatePtr certificate = Read(leaf);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, certificate.get(), nullptr);
  X509_STORE_CTX_set_purpose(context, purpose);
  X509_VERIFY_PARAM_set_time(
      X509_STORE_CTX_get0_param(context),
      std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count());
  const bool good = X509_verify_cert(context) == 1;
  const std::string said = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return good ? "good" : said;
}

std::unique_ptr<CertificateAuthority> Authority() {
  return CertificateAuthority::Create("galen-sim", kIssueTime).value();
}

TEST(CertificateAuthority, ServersAreTrustedUnderTheirNamesAndAddresses) {
  const auto authority = Authority();
  const CertificatePair server =
      authority->IssueServer({"localhost", "127.0.0.1", "::1"}, kIssueTime).value();
  EXPECT_EQ(Verify(authority->pair().certificate_pem, server.certificate_pem,
                   X509_PURPOSE_SSL_SERVER, kIssueTime),
            "good");
  const CertificatePtr leaf = Read(server.certificate_pem);
  EXPECT_EQ(X509_check_host(leaf.get(), "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "other", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.2", 0), 0);
}

TEST(CertificateAuthority, AClientCertificateNamesUserAndGroupsAndServesNothing) {
  const auto authority = Authority();
  const CertificatePair client =
      authority->IssueClient("admin", {"system:masters", "ops"}, kIssueTime).value();
  EXPECT_EQ(Verify(authority->pair().certificate_pem, client.certificate_pem,
                   X509_PURPOSE_SSL_CLIENT, kIssueTime),
            "good");
  EXPECT_NE(Verify(authority->pair().certificate_pem, client.certificate_pem,
                   X509_PURPOSE_SSL_SERVER, kIssueTime),
            "good");
  const CertificatePtr leaf = Read(client.certificate_pem);
  char* line = X509_NAME_oneline(X509_get_subject_name(leaf.get()), nullptr, 0);
  EXPECT_STREQ(line, "/O=system:masters/O=ops/CN=admin");
  OPENSSL_free(line);
}

TEST(CertificateAuthority, AnotherAuthorityIsNotTrusted) {
  const CertificatePair server = Authority()->IssueServer({"localhost"}, kIssueTime).value();
  EXPECT_NE(Verify(Authority()->pair().certificate_pem, server.certificate_pem,
                   X509_PURPOSE_SSL_SERVER, kIssueTime),
            "good");
}

TEST(CertificateAuthority, WhoTrustsTheOldCertificateTrustsWhatTheRenewedOneSigns) {
  const auto old = Authority();
  const WallTime later = kIssueTime + 24h * 200;
  const auto renewed = old->Renewed(later).value();
  EXPECT_EQ(renewed->expires(), later + CertificateAuthority::kValidity);
  const std::string leaf = renewed->IssueServer({"localhost"}, later).value().certificate_pem;
  for (const auto* authority : {old.get(), renewed.get()}) {
    EXPECT_EQ(Verify(authority->pair().certificate_pem, leaf, X509_PURPOSE_SSL_SERVER, later),
              "good");
  }
}

TEST(CertificateAuthority, CertificatesHoldForAYearAndForClocksAnHourBehind) {
  const auto authority = Authority();
  const CertificatePair server = authority->IssueServer({"localhost"}, kIssueTime).value();
  const auto at = [&](WallTime when) {
    return Verify(authority->pair().certificate_pem, server.certificate_pem,
                  X509_PURPOSE_SSL_SERVER, when);
  };
  EXPECT_EQ(at(kIssueTime - std::chrono::minutes(59)), "good");
  EXPECT_EQ(at(kIssueTime + CertificateAuthority::kValidity - 1h), "good");
  EXPECT_NE(at(kIssueTime + CertificateAuthority::kValidity + 1h), "good");
}

TEST(CertificateAuthority, OneThatWasKeptGoesOnIssuing) {
  const auto first = Authority();
  const auto second = CertificateAuthority::Load(first->pair()).value();
  const CertificatePair server = second->IssueServer({"localhost"}, kIssueTime).value();
  EXPECT_EQ(Verify(first->pair().certificate_pem, server.certificate_pem, X509_PURPOSE_SSL_SERVER,
                   kIssueTime),
            "good");
}

TEST(CertificateAuthority, RefusesToLoadWhatDoesNotBelongTogether) {
  const CertificatePair one = Authority()->pair();
  const CertificatePair other = Authority()->pair();
  EXPECT_EQ(CertificateAuthority::Load({one.certificate_pem, other.key_pem}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CertificateAuthority::Load({"", one.key_pem}).status().message(),
            "no certificate in PEM form");
  EXPECT_EQ(CertificateAuthority::Load({one.certificate_pem, "x"}).status().message(),
            "no private key in PEM form");
}

TEST(CertificateAuthority, ANameCannotSmuggleInAnother) {
  const auto authority = Authority();
  EXPECT_EQ(authority->IssueServer({"a,DNS:bank.example"}, kIssueTime).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(authority->IssueServer({}, kIssueTime).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::cluster_sim
