#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "net/tls/tls_stream.h"

namespace galen::net {
namespace {

// As many as an operator reads; a certificate of a large site has hundreds.
constexpr std::size_t kNamesShownMax = 6;

// OpenSSL prints to BIOs only. A certificate's texts come from the peer: made printable here.
template <typename F>
std::string Print(F print) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  print(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return Printable({data, static_cast<std::size_t>(size)});
}

std::string Time(const ASN1_TIME* time) {
  return Print([&](BIO* bio) { ASN1_TIME_print(bio, time); });
}

std::string Name(const X509_NAME* name) {
  return Print([&](BIO* bio) { X509_NAME_print_ex(bio, name, 0, XN_FLAG_ONELINE); });
}

std::string AddressText(const ASN1_OCTET_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int size = ASN1_STRING_length(bytes);
  const int family = size == 4 ? AF_INET : AF_INET6;
  // The address is neither IPv4 nor IPv6.
  if (size != 4 && size != 16) return "?";
  inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof(text));
  return text;
}

// The alternative names of a certificate, as many as fit into a sentence.
std::string Names(const X509* certificate) {
  auto* found = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(found,
                                                                            &GENERAL_NAMES_free);
  std::vector<std::string> out;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (out.size() == kNamesShownMax) {
      out.emplace_back("…");
      break;
    }
    if (name->type == GEN_DNS) {
      const ASN1_IA5STRING* dns = name->d.dNSName;
      out.push_back(Printable({reinterpret_cast<const char*>(ASN1_STRING_get0_data(dns)),
                               static_cast<std::size_t>(ASN1_STRING_length(dns))}));
    } else if (name->type == GEN_IPADD) {
      out.push_back(AddressText(name->d.iPAddress));
    }
  }
  return out.empty() ? "nobody by name" : fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

std::string DescribeCertificateFault(int error, const x509_st* certificate,
                                     const std::string& expected_name) {
  const bool known = certificate != nullptr;
  // Messages of our own, which say what to do, for the faults that operators meet; OpenSSL's for
  // the rest.
  switch (error) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format("is signed by an unknown authority ({}); give the authority's certificate",
                         known ? Name(X509_get_issuer_name(certificate)) : "?");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("expired on {}", known ? Time(X509_get0_notAfter(certificate)) : "?");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("is not valid before {}; check the clocks",
                         known ? Time(X509_get0_notBefore(certificate)) : "?");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("is for {}, not for {}", known ? Names(certificate) : "?", expected_name);
    default:
      return fmt::format("is not accepted: {}", X509_verify_cert_error_string(error));
  }
}

}  // namespace galen::net
