#include "web/admin_server.h"

#include <utility>

namespace galen::web {

StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(IoLoop& loop, Log& log,
                                                          std::string_view address,
                                                          net::AdminPage& page) {
  net::ServerOptions options;
  ASSIGN_OR_RETURN(options.address, net::AdminAddress(address));
  options.connections_max = kConnectionsMax;
  options.request_body_bytes_max = kRequestBodyBytesMax;
  ASSIGN_OR_RETURN(std::unique_ptr<net::Server> server,
                   net::Server::Start(loop, log, std::move(options), page));
  log.Info("metrics are served", {{"address", server->address()}});
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(server)));
}

}  // namespace galen::web
