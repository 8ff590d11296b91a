// Serves a program's AdminPage on a TCP port, loopback unless somebody says otherwise. Plain HTTP
// without a login, as Prometheus scrapes it. Belongs to its loop. Destroying it closes everything
// at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/io_loop.h"
#include "base/log.h"
#include "net/admin_page.h"
#include "net/server.h"

namespace galen::web {

class AdminServer {
 public:
  // A scraper and a few people; more than that is a mistake or an attack.
  static constexpr std::size_t kConnectionsMax = 32;
  // Nothing here reads a body; a small one is no reason to refuse.
  static constexpr std::size_t kRequestBodyBytesMax = 1024;

  // Listens; `address` is as for net::AdminAddress. Errors are its and net::Server::Start's.
  // `page`, loop and log are lent and outlive the server.
  static StatusOr<std::unique_ptr<AdminServer>> Start(IoLoop& loop, Log& log,
                                                      std::string_view address,
                                                      net::AdminPage& page);

  // "tcp:127.0.0.1:9470", with the real port.
  const std::string& address() const { return server_->address(); }

 private:
  explicit AdminServer(std::unique_ptr<net::Server> server) : server_(std::move(server)) {}

  std::unique_ptr<net::Server> server_;
};

}  // namespace galen::web
