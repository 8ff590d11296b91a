// Tested by tls_stream_test.cc, which uses it: it is nothing but support of tests.
#include "net/tls/test_certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace galen::net {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key NewKey() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

template <typename F>
std::string Pem(F write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  GALEN_CHECK(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str()), &X509_EXTENSION_free);
  GALEN_CHECK(extension != nullptr);
  GALEN_CHECK(X509_add_ext(certificate, extension.get(), -1) == 1);
}

Certificate NewCertificate(const std::string& name, EVP_PKEY* key, std::chrono::seconds from,
                           std::chrono::seconds until) {
  Certificate certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  static long serial = 0;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until.count());
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct TestAuthority::Impl {
  Key key = NewKey();
  Certificate certificate{nullptr, &X509_free};
};

TestAuthority::TestAuthority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->certificate =
      NewCertificate(name, impl_->key.get(), std::chrono::hours(-2), std::chrono::hours(2));
  X509* certificate = impl_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  GALEN_CHECK(X509_sign(certificate, impl_->key.get(), EVP_sha256()) != 0);
  pem_ = Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

TestAuthority::~TestAuthority() = default;

TestCertificate TestAuthority::Issue(const Wanted& wanted) const {
  const Key key = NewKey();
  const Certificate certificate =
      NewCertificate("leaf", key.get(), wanted.valid_from, wanted.valid_until);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(impl_->certificate.get()));
  std::string names;
  for (const std::string& name : wanted.names) names += ",DNS:" + name;
  for (const std::string& address : wanted.addresses) names += ",IP:" + address;
  if (!names.empty()) AddExtension(certificate.get(), NID_subject_alt_name, names.substr(1));
  GALEN_CHECK(X509_sign(certificate.get(), impl_->key.get(), EVP_sha256()) != 0);
  return {
      .certificate_pem = Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); }),
      .key_pem = Pem([&](BIO* bio) {
        return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      })};
}

}  // namespace galen::net
