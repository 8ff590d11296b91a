#include "rpc/peer_gate.h"

#include <string>
#include <utility>

#include "rpc/wire.h"

namespace galen::rpc {

void PeerGate::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const std::optional<net::PeerCredentials> peer = exchange->peer();
  if (!peer || peer->uid == 0 || peer->uid == own_) return behind_.Handle(std::move(exchange));
  if (refused_.First(std::to_string(peer->uid))) {
    log_.Warning("a call of another user was refused",
                 {{"uid", peer->uid},
                  {"pid", peer->pid.value_or(0)},  // as the kernel writes that it is not known
                  {"path", exchange->request().path}});
  }
  net::Headers head = {{"content-type", std::string(kContentType)}};
  for (net::Header& header : StatusHeaders(PermissionDenied(
           "user {} may not ask here: call as root or as user {}", peer->uid, own_))) {
    head.push_back(std::move(header));
  }
  exchange->Head(200, std::move(head));
  exchange->End();
}

}  // namespace galen::rpc
