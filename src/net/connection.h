// A connection to a server, from dialling to its end. HTTP/2 by prior knowledge (RFC 9113, section
// 3.3) on unix sockets and plain TCP, by ALPN on TLS. Belongs to its loop. Retries and reconnecting
// are the caller's: nothing here dials twice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/io_loop.h"
#include "net/http.h"

namespace galen::net {

// The certificate of a server and its key, as PEM texts. Clients are not asked for certificates.
struct ServerTls {
  std::string certificate_pem;  // chain, leaf first
  // Not encrypted.
  std::string key_pem;
};

// What a client checks and shows. PEM texts, never paths: who loads them decides when to reload. At
// least TLS 1.2.
struct TlsOptions {
  // For SNI and verification; a DNS name or an IP address. "" = the target's host.
  std::string server_name{};
  // Whom to trust: roots, intermediates or the server's own certificate. "" = the system's
  // authorities.
  std::string ca_pem{};
  // The client's own certificate, chain after it; "" = none.
  std::string certificate_pem{};
  // Its private key, not encrypted; read only when there is a certificate.
  std::string key_pem{};
  // kubeconfig's insecure-skip-tls-verify: any certificate is taken, and ca_pem is not read.
  bool skip_verification = false;
};

// Where to and how long. Checked when the dial starts; a fault is the dial's InvalidArgument.
struct DialOptions {
  // "unix:/path", "tcp:127.0.0.1:6443", "tcp:[::1]:6443" or "tcp:name:443".
  std::string target{};
  // nullopt: plain text.
  std::optional<TlsOptions> tls{};
  // An HTTP proxy to CONNECT through ("tcp:host:port"), or "" for none. For TLS over TCP only: a
  // plain request would be the proxy's to read.
  std::string proxy{};
  // Value of Proxy-Authorization, or "". A secret; in no error and no log.
  std::string proxy_authorization{};
  // The :authority of a request that names no host. gRPC's peers on unix sockets expect
  // "localhost".
  std::string authority = "localhost";
  // For all of it: name, socket, tunnel, handshake and the server's first settings.
  Duration connect_timeout = std::chrono::seconds(10);
  // A PING when nothing was received for this long, and the end when it stays unanswered as long
  // again: a peer that died silently is noticed within twice this. Zero: no PINGs.
  Duration ping_after = Duration::zero();
  // The flow-control window of each stream to us. Large, so that large lists come in few round
  // trips; smaller where many peers must not fill our memory.
  std::uint32_t stream_window_bytes = 1024 * 1024;
  // Names and values of one answer's headers or trailers; past it that call alone ends with
  // ResourceExhausted.
  std::size_t response_head_bytes_max = 64 * 1024;
};

// An established connection. Destroying it closes it; the sinks of open calls are not called any
// more, so their owners let go of them first (see HttpClient).
class Connection : public HttpClient {
 public:
  // Called once when the connection is lost or the peer said GOAWAY and the last call ended; why
  // (Unavailable). New calls fail with Unavailable from then on. Calls under way are ended first.
  // May destroy the connection. Set after the loss, it is still called, in the loop's next turn.
  // nullptr takes it back.
  virtual void OnClosed(std::function<void(const Status&)> callback) = 0;
  // False once the peer said GOAWAY or the connection is lost: dial a new one for new calls.
  virtual bool usable() const = 0;
};

// A connection being made. Destroying it cancels; `done` is not called then.
class Dialling {
 public:
  virtual ~Dialling() = default;
};

// Makes connections; the real one dials sockets, the fake one FakeLinks.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // `done` runs once, later, on the loop, unless the Dialling is destroyed first. May destroy it.
  // Errors begin with "dial TARGET": InvalidArgument for bad options, Unavailable where nobody
  // listens or a name is not known, DeadlineExceeded after connect_timeout, Unauthenticated for
  // certificates that are not accepted on either side, PermissionDenied for a socket file or a
  // proxy that refuses, FailedPrecondition for a server without TLS or HTTP/2. The connection that
  // comes may outlive the Dialling, not the dialer.
  virtual std::unique_ptr<Dialling> Dial(
      DialOptions options, std::function<void(StatusOr<std::unique_ptr<Connection>>)> done) = 0;
};

// Dials real sockets. The loop outlives the dialer, and both outlive all its dials and connections.
std::unique_ptr<Dialer> MakeDialer(IoLoop& loop);

}  // namespace galen::net
