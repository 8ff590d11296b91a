#include "net/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace galen::net {
namespace {

// ALPN's format: each name after its length.
constexpr unsigned char kHttp2Only[] = "\x02h2";
constexpr unsigned char kHttp2Or1[] = "\x02h2\x08http/1.1";
constexpr unsigned char kHttp1Only[] = "\x08http/1.1";

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

Bio Reader(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  GALEN_CHECK(bio != nullptr);
  return bio;
}

// OpenSSL's own message for what went wrong last, and an empty queue of errors. The queue is one
// for the thread: what is left in it would be taken for the next call's error.
std::string LastError() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "no reason given" : reason;
}

// OpenSSL would ask for the passphrase of an encrypted key on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& pem, std::string_view what) {
  std::vector<Certificate> out;
  const Bio bio = Reader(pem);
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    out.emplace_back(one);
  }
  // The end of the text shows as "no start line"; anything else is a broken certificate.
  const unsigned long error = ERR_peek_last_error();
  const bool ended = ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!ended) return InvalidArgument("{} is broken PEM: {}", what, LastError());
  ERR_clear_error();
  if (out.empty()) return InvalidArgument("{} holds no certificate in PEM", what);
  return out;
}

Status UseCertificate(SSL_CTX* context, const std::string& certificate_pem,
                      const std::string& key_pem) {
  ASSIGN_OR_RETURN(std::vector<Certificate> chain,
                   ReadCertificates(certificate_pem, "certificate"));
  const Bio bio = Reader(key_pem);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) {
    return InvalidArgument("the key is not an unencrypted private key in PEM: {}", LastError());
  }
  // The leaf comes first in the text; what follows is sent along for peers that know only the root.
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return InvalidArgument("certificate: {}", LastError());
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return InvalidArgument("certificate chain: {}", LastError());
    }
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return InvalidArgument("the key does not belong to the certificate: {}", LastError());
  }
  return OkStatus();
}

Status TrustAuthorities(SSL_CTX* context, const std::string& ca_pem) {
  // Whatever is given is trusted, as in client-go: an intermediate authority or the server's own
  // certificate as well as a root.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  if (ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return OkStatus();
    return FailedPrecondition(
        "read the system's certificate authorities: {}; install the package ca-certificates, or "
        "name a certificate authority (in a kubeconfig: certificate-authority)",
        LastError());
  }
  ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                   ReadCertificates(ca_pem, "certificate authority"));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1) {
      return InvalidArgument("certificate authority: {}", LastError());
    }
  }
  return OkStatus();
}

SslContext NewContext(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method));
  GALEN_CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // An idle connection keeps no buffers.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* in, unsigned in_size, void* http2) {
  unsigned char* chosen = nullptr;
  const unsigned char* known = http2 != nullptr ? kHttp2Or1 : kHttp1Only;
  const auto size =
      static_cast<unsigned>((http2 != nullptr ? sizeof(kHttp2Or1) : sizeof(kHttp1Only)) - 1);
  const int outcome = SSL_select_next_proto(&chosen, out_size, known, size, in, in_size);
  // No common protocol: goes on without ALPN instead of breaking off; the first bytes decide.
  if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void SslContextDeleter::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

StatusOr<SslContext> MakeClientContext(const TlsOptions& options) {
  ERR_clear_error();
  SslContext context = NewContext(TLS_client_method());
  if (!options.skip_verification) {
    RETURN_IF_ERROR(TrustAuthorities(context.get(), options.ca_pem));
  }
  if (!options.certificate_pem.empty()) {
    RETURN_IF_ERROR(UseCertificate(context.get(), options.certificate_pem, options.key_pem));
  }
  GALEN_CHECK(SSL_CTX_set_alpn_protos(context.get(), kHttp2Only, sizeof(kHttp2Only) - 1) == 0);
  return context;
}

StatusOr<SslContext> MakeServerContext(const ServerTls& options, bool http2) {
  ERR_clear_error();
  SslContext context = NewContext(TLS_server_method());
  RETURN_IF_ERROR(UseCertificate(context.get(), options.certificate_pem, options.key_pem));
  // Its argument is only a flag: null or not.
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, http2 ? context.get() : nullptr);
  return context;
}

}  // namespace galen::net
