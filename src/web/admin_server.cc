#include "web/admin_server.h"

#include <algorithm>
#include <utility>

namespace galen::web {

StatusOr<std::string> AdminAddress(std::string_view text) {
  const std::string_view whole = text;
  if (text.starts_with("tcp:")) text.remove_prefix(4);
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const bool digits =
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (port.empty() || port.size() > 5 || !digits || std::stoi(std::string(port)) > 65535) {
    return InvalidArgument("'{}' is no address for metrics, write one like 127.0.0.1:9470", whole);
  }
  // Left out means this machine only: opening it to the network is to be said aloud.
  const std::string_view host = colon == 0 ? "127.0.0.1" : text.substr(0, colon);
  return fmt::format("tcp:{}:{}", host, port);
}

StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(IoLoop& loop, Log& log,
                                                          std::string_view address,
                                                          net::AdminPage& page) {
  net::ServerOptions options;
  ASSIGN_OR_RETURN(options.address, AdminAddress(address));
  options.connections_max = kConnectionsMax;
  options.request_body_bytes_max = kRequestBodyBytesMax;
  ASSIGN_OR_RETURN(std::unique_ptr<net::Server> server,
                   net::Server::Start(loop, log, std::move(options), page));
  log.Info("metrics are served", {{"address", server->address()}});
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(server)));
}

}  // namespace galen::web
