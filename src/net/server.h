// Listens on a unix socket or TCP address, speaks HTTP/2 (prior knowledge or ALPN) and HTTP/1.1,
// and hands whole requests to a handler. Belongs to its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/io_loop.h"
#include "base/log.h"
#include "net/http.h"

namespace galen::net {

struct ServerTls {
  std::string certificate_pem;  // chain, leaf first
  std::string key_pem;
};

struct ServerOptions {
  // "unix:/path" or "tcp:127.0.0.1:0" (port 0: any free one).
  std::string address{};
  std::optional<ServerTls> tls{};
  // Permission bits of a unix socket, set before anyone can connect.
  unsigned socket_mode = 0600;
  std::size_t request_body_bytes_max = 16 * 1024 * 1024;  // past it: 413, gRPC: RESOURCE_EXHAUSTED
  std::size_t connections_max = 1024;                     // past it: accepted and closed
  std::size_t streams_per_connection_max = 1000;
};

class Server {
 public:
  // Binds and listens. A unix socket file that nobody listens on any more is replaced; one that
  // somebody listens on is AlreadyExists; a path past 107 bytes is InvalidArgument.
  static StatusOr<std::unique_ptr<Server>> Start(IoLoop& loop, Log& log, ServerOptions options,
                                                 HttpHandler& handler);
  // Closes everything at once and removes the socket file if it is still ours.
  ~Server();

  // The bound address, with the real port: "tcp:127.0.0.1:41234".
  const std::string& address() const;
  std::size_t connections() const;

  // Stops accepting, says GOAWAY, waits for exchanges under way up to `deadline`, then `done`.
  void Drain(Duration deadline, std::function<void()> done);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// The longest path of a unix socket: sizeof(sockaddr_un::sun_path) less its terminating zero.
inline constexpr std::size_t kSocketPathMax = 107;

}  // namespace galen::net
