#include "net/tls/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace galen::net {
namespace {

// Large enough for OpenSSL to hand out a whole record.
constexpr int kPlainBytesMax = 16 * 1024;
// SSL_write counts in int.
constexpr int kTlsWriteBytesMax = 1 << 30;

bool IsIpAddress(const std::string& name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

// OpenSSL's messages for the peer's alerts about our own certificate are hard to read.
Status AlertStatus(unsigned long error, const std::string& reason) {
  switch (ERR_GET_REASON(error)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return Unauthenticated("the peer asks for a client certificate, and none is configured");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return Unauthenticated("the peer does not accept our certificate ({})", reason);
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
      return FailedPrecondition("the other side does not use TLS ({})", reason);
    default:
      return Unavailable("TLS: {}", reason);
  }
}

}  // namespace

struct TlsStream::Hooks {
  // Notes what is wrong while the certificate is at hand; the verdict stays OpenSSL's.
  static int OnVerify(int ok, X509_STORE_CTX* store) {
    if (ok == 1) return ok;
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<TlsStream*>(SSL_get_app_data(ssl));
    self.rejection_ = DescribeCertificateFault(
        X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store), self.peer_.name);
    return ok;
  }
};

TlsStream::TlsStream(std::unique_ptr<ByteStream> inner, ssl_ctx_st* context, OnHandshake done)
    : inner_(std::move(inner)), ssl_(SSL_new(context)), done_(std::move(done)) {
  GALEN_CHECK(ssl_ != nullptr);
  SSL_set_app_data(ssl_, this);
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  GALEN_CHECK(in != nullptr && out != nullptr);
  SSL_set_bio(ssl_, in, out);
}

TlsStream::~TlsStream() {
  // Says goodbye, as far as the socket takes it at once; without it the peer sees a cut.
  // Only after the handshake: before it there is no session to say goodbye in.
  if (inner_ != nullptr && !done_) {
    ERR_clear_error();
    if (SSL_shutdown(ssl_) >= 0) SendCipherText();
    ERR_clear_error();
  }
  SSL_free(ssl_);
}

std::unique_ptr<TlsStream> TlsStream::Connect(std::unique_ptr<ByteStream> inner,
                                              ssl_ctx_st* context, TlsPeer peer, OnHandshake done) {
  std::unique_ptr<TlsStream> stream(new TlsStream(std::move(inner), context, std::move(done)));
  stream->peer_ = std::move(peer);
  SSL_set_connect_state(stream->ssl_);
  stream->ExpectPeer();
  stream->Start();
  return stream;
}

std::unique_ptr<TlsStream> TlsStream::Accept(std::unique_ptr<ByteStream> inner, ssl_ctx_st* context,
                                             OnHandshake done) {
  std::unique_ptr<TlsStream> stream(new TlsStream(std::move(inner), context, std::move(done)));
  SSL_set_accept_state(stream->ssl_);
  stream->Start();
  return stream;
}

void TlsStream::ExpectPeer() {
  const bool number = IsIpAddress(peer_.name);
  // RFC 6066, section 3: addresses are not server names.
  if (!number && !peer_.name.empty()) SSL_set_tlsext_host_name(ssl_, peer_.name.c_str());
  if (peer_.skip_verification) return SSL_set_verify(ssl_, SSL_VERIFY_NONE, nullptr);
  SSL_set_verify(ssl_, SSL_VERIFY_PEER, Hooks::OnVerify);
  // An empty name would switch the check off.
  GALEN_CHECK(!peer_.name.empty());
  // Names stand in the alternative names; the common name has not counted for years.
  X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(ssl_), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                                                            X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = number ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), peer_.name.c_str())
                         : SSL_set1_host(ssl_, peer_.name.c_str());
  GALEN_CHECK(set == 1);
}

void TlsStream::Start() {
  inner_->SetSink(*this);
  ERR_clear_error();
  static_cast<void>(SSL_do_handshake(ssl_));  // only writes a hello, if anything
  SendCipherText();
}

void TlsStream::Write(std::string_view bytes) {
  GALEN_CHECK(!done_);
  while (!bytes.empty()) {
    ERR_clear_error();
    const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), kTlsWriteBytesMax));
    const int written = SSL_write(ssl_, bytes.data(), size);
    // Our side's output is memory and always taken; a failed session is reported by reading.
    if (written <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  SendCipherText();
}

void TlsStream::SendCipherText() {
  BIO* out = SSL_get_wbio(ssl_);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  if (size <= 0) return;
  inner_->Write({data, static_cast<std::size_t>(size)});
  static_cast<void>(BIO_reset(out));  // a BIO in memory cannot fail to be emptied
}

void TlsStream::OnBytes(std::string_view bytes) {
  // What follows a goodbye or a broken record is ignored.
  if (ended_) return;
  // Memory takes all of it.
  BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
  Liveness::Watch watch(liveness_);
  if (done_) Shake();
  // Data may come right behind the handshake, in the same bytes.
  if (watch.alive() && !done_ && sink_ != nullptr) DeliverPlainText();
}

void TlsStream::OnWritable() {
  if (!done_ && !ended_ && sink_ != nullptr) sink_->OnWritable();
}

void TlsStream::OnClosed(const Status& status) {
  if (done_) return FinishHandshake(Annotate(status, "TLS handshake"));
  if (sink_ != nullptr) End(status);
}

// Called for a goodbye, a broken record and the inner stream's end; several may come.
void TlsStream::End(const Status& status) {
  if (std::exchange(ended_, true)) return;
  sink_->OnClosed(status);
}

void TlsStream::Shake() {
  ERR_clear_error();
  const int outcome = SSL_do_handshake(ssl_);
  // Sends what reading made OpenSSL write: an alert, a key update, the answer to a goodbye.
  SendCipherText();
  if (outcome == 1) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    return FinishHandshake(std::string(reinterpret_cast<const char*>(name), size));
  }
  if (SSL_get_error(ssl_, outcome) == SSL_ERROR_WANT_READ) return;
  FinishHandshake(Error(outcome));
}

void TlsStream::FinishHandshake(const StatusOr<std::string>& protocol) {
  const OnHandshake done = std::exchange(done_, nullptr);
  done(protocol);
}

void TlsStream::DeliverPlainText() {
  Liveness::Watch watch(liveness_);
  while (true) {
    char buffer[kPlainBytesMax];
    ERR_clear_error();
    const int got = SSL_read(ssl_, buffer, sizeof(buffer));
    if (got <= 0) {
      const Status status = Error(got);
      SendCipherText();
      if (!status.ok()) End(status);
      return;
    }
    sink_->OnBytes({buffer, static_cast<std::size_t>(got)});
    if (!watch.alive()) return;
  }
}

// OK when there is only more to wait for.
Status TlsStream::Error(int outcome) const {
  const int error = SSL_get_error(ssl_, outcome);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return OkStatus();
  if (error == SSL_ERROR_ZERO_RETURN) return Unavailable("the peer closed the connection");
  const unsigned long code = ERR_peek_error();
  if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED && !rejection_.empty()) {
    return Unauthenticated("certificate of {} {}", peer_.address, rejection_);
  }
  const char* reason = ERR_reason_error_string(code);
  return AlertStatus(code, reason == nullptr ? "broken" : reason);
}

}  // namespace galen::net
