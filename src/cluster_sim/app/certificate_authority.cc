#include "cluster_sim/app/certificate_authority.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <utility>

namespace galen::cluster_sim {

// Lets unique_ptr free an OpenSSL object by its C function.
template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freer<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

namespace {

// RFC 5280, section 4.1.2.2, allows 20; 16 random ones never collide in practice.
constexpr std::size_t kSerialBytes = 16;

// Internal with the oldest error of OpenSSL's queue; empties the queue, or later calls would report
// the rest.
Status OpensslStatus(std::string_view what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return Internal("{}: {}", what, text.data());
}

// The fields in which certificates differ.
struct Subject {
  std::string common_name;
  std::vector<std::string> organizations;
  bool authority = false;
  std::string usage;      // extendedKeyUsage, "" = none
  std::string alt_names;  // in OpenSSL's notation, "" = none
};

Status AddName(X509_NAME* name, const char* field, const std::string& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
  const int ok = X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, bytes,
                                            static_cast<int>(value.size()), -1, 0);
  return ok == 1 ? OkStatus() : OpensslStatus(fmt::format("name \"{}\" in a certificate", value));
}

// `value` is in the notation of x509v3_config(5); "" adds nothing.
Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  if (value.empty()) return OkStatus();
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpensslStatus(fmt::format("extension \"{}\" of a certificate", value));
  }
  return OkStatus();
}

Status SetSerial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return OpensslStatus("serial number");
  }
  bytes[0] &= 0x7f;  // serial numbers are positive
  const std::unique_ptr<BIGNUM, Freer<BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
  return OkStatus();
}

void SetTimes(X509* certificate, WallTime now) {
  const auto seconds = [](WallTime time) {
    return std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  };
  // An hour back, so that a client whose clock is a little slow accepts it.
  ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(now - std::chrono::hours(1)));
  ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(now + CertificateAuthority::kValidity));
}

Status AddExtensions(X509* certificate, X509* issuer, const Subject& subject) {
  RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_basic_constraints,
                               subject.authority ? "critical,CA:TRUE" : "critical,CA:FALSE"));
  RETURN_IF_ERROR(AddExtension(
      certificate, issuer, NID_key_usage,
      subject.authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"));
  RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_ext_key_usage, subject.usage));
  RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_subject_alt_name, subject.alt_names));
  // Before the authority's: that one is copied from the issuer's subject key identifier, and an
  // authority issues itself.
  RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_subject_key_identifier, "hash"));
  return AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid");
}

// An unsigned certificate for `key`. `issuer` null: self-signed.
StatusOr<CertificatePtr> Draft(const Subject& subject, EVP_PKEY* key, X509* issuer, WallTime now) {
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  RETURN_IF_ERROR(SetSerial(certificate.get()));
  SetTimes(certificate.get(), now);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  // A field may come several times; Kubernetes takes each O as a group.
  for (const std::string& group : subject.organizations) RETURN_IF_ERROR(AddName(name, "O", group));
  RETURN_IF_ERROR(AddName(name, "CN", subject.common_name));
  X509* parent = issuer != nullptr ? issuer : certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(parent));
  X509_set_pubkey(certificate.get(), key);
  RETURN_IF_ERROR(AddExtensions(certificate.get(), parent, subject));
  return certificate;
}

StatusOr<KeyPtr> MakeKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpensslStatus("make a key");
  return key;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

StatusOr<CertificatePair> Encode(X509* certificate, EVP_PKEY* key) {
  const BioPtr certificate_text(BIO_new(BIO_s_mem()));
  const BioPtr key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpensslStatus("encode a certificate");
  }
  return CertificatePair{TextOf(certificate_text.get()), TextOf(key_text.get())};
}

// Borrows `text`.
BioPtr ReadOnly(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string CommonName(X509* certificate) {
  std::array<char, 256> name{};  // longer than the 64 that X.520 allows
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  return name.data();
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(AF_INET, name.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), ignored.data()) == 1;
}

}  // namespace

// The authority's own key and certificate; both are set before Create returns.
struct CertificateAuthority::Impl {
  KeyPtr key;
  CertificatePtr certificate;

  StatusOr<CertificatePair> Issue(const Subject& subject, WallTime now) const {
    ASSIGN_OR_RETURN(const KeyPtr leaf_key, MakeKey());
    ASSIGN_OR_RETURN(const CertificatePtr leaf,
                     Draft(subject, leaf_key.get(), certificate.get(), now));
    if (X509_sign(leaf.get(), key.get(), EVP_sha256()) == 0)
      return OpensslStatus("sign a certificate");
    return Encode(leaf.get(), leaf_key.get());
  }
};

CertificateAuthority::CertificateAuthority(std::unique_ptr<Impl> impl, CertificatePair pair)
    : impl_(std::move(impl)), pair_(std::move(pair)) {}
CertificateAuthority::~CertificateAuthority() = default;

StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::SelfSigned(
    std::unique_ptr<Impl> impl, const std::string& name, WallTime now) {
  const Subject subject{
      .common_name = name, .organizations = {}, .authority = true, .usage = "", .alt_names = ""};
  ASSIGN_OR_RETURN(impl->certificate, Draft(subject, impl->key.get(), nullptr, now));
  if (X509_sign(impl->certificate.get(), impl->key.get(), EVP_sha256()) == 0) {
    return OpensslStatus("sign a certificate");
  }
  ASSIGN_OR_RETURN(CertificatePair pair, Encode(impl->certificate.get(), impl->key.get()));
  return std::unique_ptr<CertificateAuthority>(
      new CertificateAuthority(std::move(impl), std::move(pair)));
}

StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::Create(
    const std::string& name, WallTime now) {
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->key, MakeKey());
  return SelfSigned(std::move(impl), name, now);
}

StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::Renewed(WallTime now) const {
  auto impl = std::make_unique<Impl>();
  EVP_PKEY_up_ref(impl_->key.get());
  impl->key.reset(impl_->key.get());
  return SelfSigned(std::move(impl), CommonName(impl_->certificate.get()), now);
}

WallTime CertificateAuthority::expires() const {
  std::tm when{};
  ASN1_TIME_to_tm(X509_get0_notAfter(impl_->certificate.get()), &when);
  return WallTime(std::chrono::seconds(::timegm(&when)));
}

StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::Load(
    const CertificatePair& pair) {
  auto impl = std::make_unique<Impl>();
  impl->certificate.reset(
      PEM_read_bio_X509(ReadOnly(pair.certificate_pem).get(), nullptr, nullptr, nullptr));
  impl->key.reset(PEM_read_bio_PrivateKey(ReadOnly(pair.key_pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (impl->certificate == nullptr) return InvalidArgument("no certificate in PEM form");
  if (impl->key == nullptr) return InvalidArgument("no private key in PEM form");
  if (X509_check_private_key(impl->certificate.get(), impl->key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the key does not belong to the certificate");
  }
  return std::unique_ptr<CertificateAuthority>(new CertificateAuthority(std::move(impl), pair));
}

StatusOr<CertificatePair> CertificateAuthority::IssueServer(const std::vector<std::string>& names,
                                                            WallTime now) const {
  if (names.empty()) return InvalidArgument("a server certificate needs a name or an address");
  std::string alt_names;
  for (const std::string& name : names) {
    // Commas and colons would begin another entry of OpenSSL's notation.
    if (!IsAddress(name) && name.find_first_of(",:\n") != std::string::npos) {
      return InvalidArgument("\"{}\" is neither a DNS name nor an address", name);
    }
    alt_names += alt_names.empty() ? "" : ",";
    alt_names += (IsAddress(name) ? "IP:" : "DNS:") + name;
  }
  return impl_->Issue({.common_name = names.front(),
                       .organizations = {},
                       .authority = false,
                       .usage = "serverAuth",
                       .alt_names = std::move(alt_names)},
                      now);
}

StatusOr<CertificatePair> CertificateAuthority::IssueClient(const std::string& user,
                                                            const std::vector<std::string>& groups,
                                                            WallTime now) const {
  return impl_->Issue({.common_name = user,
                       .organizations = groups,
                       .authority = false,
                       .usage = "clientAuth",
                       .alt_names = ""},
                      now);
}

}  // namespace galen::cluster_sim
