// A connection to a server, from dialling to its end. HTTP/2 by prior knowledge on unix sockets
// and plain TCP, by ALPN on TLS. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io_loop.h"
#include "net/http.h"

namespace galen::net {

// What a client checks and shows. PEM texts, never paths: who loads them decides when to reload.
struct TlsOptions {
  std::string server_name{};      // for SNI and verification; a DNS name or an IP address
  std::string ca_pem{};           // "" = the system's authorities
  std::string certificate_pem{};  // "" = none
  std::string key_pem{};
  bool skip_verification = false;  // kubeconfig's insecure-skip-tls-verify
};

struct DialOptions {
  // "unix:/path", "tcp:127.0.0.1:6443", "tcp:[::1]:6443" or "tcp:name:443".
  std::string target{};
  std::optional<TlsOptions> tls{};
  // An HTTP proxy to CONNECT through ("tcp:host:port"), or "" for none.
  std::string proxy{};
  std::string proxy_authorization{};  // value of Proxy-Authorization, or ""
  std::string authority = "localhost";
  Duration connect_timeout = std::chrono::seconds(10);
  // A PING when nothing was heard for this long, and the end when it stays unanswered as long
  // again: a peer that died without a word is noticed within twice this. Zero: no PINGs.
  Duration ping_after = Duration::zero();
  std::size_t response_head_bytes_max = 64 * 1024;
};

// An established connection.
class Connection : public HttpClient {
 public:
  // Called once when the connection is lost or the peer said GOAWAY and the last call ended; why.
  // New calls fail with Unavailable from then on. May destroy the connection.
  virtual void OnClosed(std::function<void(const Status&)> callback) = 0;
  // False once the peer said GOAWAY or the connection is lost: dial a new one for new calls.
  virtual bool usable() const = 0;
};

// A connection being made. Destroying it gives up.
class Dialling {
 public:
  virtual ~Dialling() = default;
};

// Makes connections; the real one dials sockets, the fake one FakeLinks.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // `done` runs once, later, on the loop, unless the Dialling is destroyed first. May destroy it.
  virtual std::unique_ptr<Dialling> Dial(
      DialOptions options, std::function<void(StatusOr<std::unique_ptr<Connection>>)> done) = 0;
};

// Dials real sockets. The loop outlives the dialer and all its connections.
std::unique_ptr<Dialer> MakeDialer(IoLoop& loop);

}  // namespace galen::net
