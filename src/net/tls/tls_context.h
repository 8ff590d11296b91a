// Makes the context of a TLS end: certificates, keys and authorities from PEM texts. Internal to
// this room; OpenSSL behind it. At least TLS 1.2 (RFC 9113, section 9.2), no renegotiation, no
// compression, no passphrases.
#pragma once

#include <memory>

#include "base/status.h"
#include "net/connection.h"

struct ssl_ctx_st;

namespace galen::net {

// Frees with OpenSSL's own function, so that its headers stay out of this one.
struct SslContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using SslContext = std::unique_ptr<ssl_ctx_st, SslContextDeleter>;

// Offers HTTP/2 only. InvalidArgument for PEM that cannot be read or a key that does not fit;
// FailedPrecondition when the system's authorities cannot be loaded. Whom to verify is set for each
// stream (TlsPeer).
StatusOr<SslContext> MakeClientContext(const TlsOptions& options);
// Takes HTTP/2 (unless `http2` is false) or HTTP/1.1, HTTP/2 where the client offers both, and no
// ALPN at all. The same errors.
StatusOr<SslContext> MakeServerContext(const ServerTls& options, bool http2 = true);

}  // namespace galen::net
