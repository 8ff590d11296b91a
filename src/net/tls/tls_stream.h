// TLS over another stream, as a stream. Internal to this room; OpenSSL behind it, by memory BIOs:
// it never sees a socket. Belongs to its loop. Owns the inner stream; says goodbye (close_notify)
// when it dies.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/liveness.h"
#include "base/status.h"
#include "net/byte_stream.h"
#include "net/tls/tls_context.h"

struct x509_st;

struct ssl_st;

namespace galen::net {

// The server that a client expects.
struct TlsPeer {
  // A DNS name or an IP address, checked against the certificate's alternative names.
  std::string name;
  // As people know it, for errors.
  std::string address;
  // Takes any certificate; `name` then serves for SNI only.
  bool skip_verification = false;
};

class TlsStream final : public ByteStream, private ByteStream::Sink {
 public:
  // The outcome of the handshake: the protocol that both chose ("h2"; "" for none), or why not:
  // Unauthenticated for certificates that are not accepted by us or by the peer, FailedPrecondition
  // for a peer that does not use TLS, otherwise Unavailable.
  using OnHandshake = std::function<void(const StatusOr<std::string>& protocol)>;

  // Both start the handshake; `context` is only read during the call. `done` runs once, later; it
  // sets a sink or destroys the stream.
  static std::unique_ptr<TlsStream> Connect(std::unique_ptr<ByteStream> inner, ssl_ctx_st* context,
                                            TlsPeer peer, OnHandshake done);
  static std::unique_ptr<TlsStream> Accept(std::unique_ptr<ByteStream> inner, ssl_ctx_st* context,
                                           OnHandshake done);
  ~TlsStream() override;

  void SetSink(ByteStream::Sink& sink) override { sink_ = &sink; }
  // REQUIRES: the handshake is done.
  void Write(std::string_view bytes) override;
  // Counts cipher text, a little more than what was written.
  std::size_t unsent() const override { return inner_->unsent(); }

 private:
  struct Hooks;

  TlsStream(std::unique_ptr<ByteStream> inner, ssl_ctx_st* context, OnHandshake done);
  // Sets what the peer's certificate is checked for. A client's only.
  void ExpectPeer();
  void Start();
  void OnBytes(std::string_view bytes) override;
  void OnWritable() override;
  void OnClosed(const Status& status) override;
  // Goes on with the handshake as far as the bytes reach.
  void Shake();
  void FinishHandshake(const StatusOr<std::string>& protocol);
  // Reads until nothing is left; may destroy this.
  void DeliverPlainText();
  // Reports the first end to the sink; may destroy this.
  void End(const Status& status);
  // Hands what OpenSSL has written to the inner stream.
  void SendCipherText();
  Status Error(int outcome) const;

  std::unique_ptr<ByteStream> inner_;
  ssl_st* ssl_;
  TlsPeer peer_;
  OnHandshake done_;  // until the handshake is over
  ByteStream::Sink* sink_ = nullptr;
  bool ended_ = false;     // the sink knows that nothing comes any more
  std::string rejection_;  // what is wrong with the peer's certificate
  Liveness liveness_;
};

// ---- A sentence for why a certificate was not accepted. Internal to this room.

// `error` is one of X509_V_ERR_…; `certificate` the one it is about, may be null; `expected_name`
// is the name or IP address that the client asked for. Gives a sentence's end, "is signed by an
// unknown authority, …", to be read after the name of whose certificate it is. Text from the
// certificate is made printable. No secrets are in it.
std::string DescribeCertificateFault(int error, const x509_st* certificate,
                                     const std::string& expected_name);

}  // namespace galen::net
