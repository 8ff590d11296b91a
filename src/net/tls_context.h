// What a TLS end is made of: certificates, keys and authorities from PEM texts. Internal to this
// room; OpenSSL behind it. At least TLS 1.2.
#pragma once

#include <memory>

#include "base/status.h"
#include "net/connection.h"
#include "net/server.h"

struct ssl_ctx_st;

namespace galen::net {

struct SslContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using SslContext = std::unique_ptr<ssl_ctx_st, SslContextDeleter>;

// Offers HTTP/2 only.
StatusOr<SslContext> MakeClientContext(const TlsOptions& options);
// Takes HTTP/2 or HTTP/1.1, whichever the client prefers not less.
StatusOr<SslContext> MakeServerContext(const ServerTls& options);

}  // namespace galen::net
