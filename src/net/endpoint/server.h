// Listens on a unix socket or TCP address, serves HTTP/2 (prior knowledge or ALPN) and HTTP/1.1
// (each connection by what its client says first), and hands whole requests to a handler. Belongs
// to its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/loop/io_loop.h"
#include "net/connection.h"
#include "net/http.h"

namespace galen::net {

// Where a Server listens, and what it takes of one client.
struct ServerOptions {
  // "unix:/path" or "tcp:127.0.0.1:0" (port 0: any free one).
  std::string address{};
  // nullopt: plain text.
  std::optional<ServerTls> tls{};
  // Permission bits of a unix socket, set before anyone can connect.
  unsigned socket_mode = 0600;
  // Limit of one request's body, which is held in memory until it is whole. Past it: 413, gRPC:
  // RESOURCE_EXHAUSTED.
  std::size_t request_body_bytes_max = 16 * 1024 * 1024;
  // Past it the connection that has been idle longest (see ServerSession) is closed to make room:
  // clients that hold connections shut nobody out. While each owes an answer the new one is
  // accepted and closed, so that a client sees it at once instead of waiting in the backlog.
  std::size_t connections_max = 1024;
  // HTTP/2 only; announced to the client by SETTINGS_MAX_CONCURRENT_STREAMS.
  std::size_t streams_per_connection_max = 1000;
  // Limit of one request's headers, kFieldBytes for each field counted; past it: 431.
  std::size_t head_bytes_max = 64 * 1024;
  // false: HTTP/1.1 alone, for a port that strangers reach. A connection then holds one request, in
  // as many bytes as its client has sent, and one answer.
  bool http2 = true;
};

// The options of a server for an AdminPage, whose clients are not known: `address` as for
// AdminAddress, with its errors; HTTP/1.1 alone, which kubelets' probes and scrapers speak; and the
// page's limits.
StatusOr<ServerOptions> AdminServerOptions(std::string_view address);

// Requests come from the loop, never from inside Start.
class Server {
 public:
  // Binds and listens. A unix socket file that nobody listens on any more is replaced; one that
  // somebody listens on is AlreadyExists; a path past 107 bytes is InvalidArgument, and so are a
  // TCP host that is not a number and PEM that cannot be read. Other errors are the system's
  // (PermissionDenied, NotFound for a missing directory). Loop, log and handler outlive the server.
  static StatusOr<std::unique_ptr<Server>> Start(IoLoop& loop, Log& log, ServerOptions options,
                                                 HttpHandler& handler);
  // Closes everything at once and removes the socket file if it is still ours. Exchanges may
  // outlive it and are notified that they are gone.
  ~Server();

  // Another certificate, for connections that are accepted from now on; open ones keep theirs. On
  // an error, those of Start, the one before stays. REQUIRES: started with TLS.
  Status UseTls(const ServerTls& tls);

  // The bound address, with the real port: "tcp:127.0.0.1:41234".
  const std::string& address() const;
  // Open ones, those whose TLS handshake is under way included.
  std::size_t connections() const;

  // Stops accepting, says GOAWAY, waits for exchanges under way up to `deadline`, then closes the
  // rest; then `done`, once, from the loop, which may destroy the server. Call it once.
  void Drain(Duration deadline, std::function<void()> done);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::net
