// Asks the agent of this node, through its socket. Belongs to its session's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/epoll_loop.h"
#include "cli/await.h"
#include "net/connection.h"
#include "rpc/channel.h"
#include "rpc/typed.h"

namespace galen::cli {

class AgentLink {
 public:
  // Connects to any gRPC socket of ours: the agent's, or a driver's for its simulator. NotFound
  // when there is no socket, PermissionDenied when it is another user's.
  static StatusOr<std::unique_ptr<AgentLink>> Open(EpollLoop& loop, net::Dialer& dialer,
                                                   const std::string& socket);

  // One question: Ask<ListDevicesResponse>("/galen.inspect.v1.Inspect/ListDevices", request).
  template <typename Response, typename Request>
  StatusOr<Response> Ask(std::string_view method, const Request& request);

 private:
  AgentLink(EpollLoop& loop, std::unique_ptr<net::Connection> connection)
      : loop_(loop), connection_(std::move(connection)), channel_(loop, *connection_) {}

  static constexpr Duration kAnswerWithin = std::chrono::seconds(5);

  EpollLoop& loop_;
  std::unique_ptr<net::Connection> connection_;
  rpc::Channel channel_;
};

template <typename Response, typename Request>
StatusOr<Response> AgentLink::Ask(std::string_view method, const Request& request) {
  std::unique_ptr<rpc::Call> call;
  return Await<Response>(loop_, [&](std::function<void(StatusOr<Response>)> done) {
    call = rpc::Unary<Response>(channel_, method, request, kAnswerWithin, std::move(done));
  });
}

}  // namespace galen::cli
