// Calls a gRPC socket of this node and waits for the answer: the agent's, or a driver's for its
// simulator. Belongs to its session's thread; each call runs the loop until it is answered.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop/epoll_loop.h"
#include "cli/await.h"
#include "net/connection.h"
#include "rpc/channel.h"
#include "rpc/typed.h"

namespace galen::cli {

class AgentLink {
 public:
  // Connects to the unix socket at the path `socket`. NotFound when there is none, PermissionDenied
  // when it is another user's, Unavailable when no process listens. The arguments outlive the link.
  // `interrupt` (null = none) ends this wait and those for answers.
  static StatusOr<std::unique_ptr<AgentLink>> Open(EpollLoop& loop, net::Dialer& dialer,
                                                   const std::string& socket,
                                                   const Interrupt* interrupt = nullptr);

  // The same for the agent's socket, with advice in the error.
  static StatusOr<std::unique_ptr<AgentLink>> OpenAgent(EpollLoop& loop, net::Dialer& dialer,
                                                        const std::string& socket,
                                                        const Interrupt* interrupt = nullptr);

  // One call: Ask<ListDevicesResponse>("/galen.inspect.v1.Inspect/ListDevices", request). Returns
  // the service's Status unchanged (Unimplemented when it has no such method), except that
  // InvalidArgument, reserved for command lines, becomes FailedPrecondition. DeadlineExceeded
  // without an answer `within` the time. One at a time. After the connection broke, open another
  // link.
  template <typename Response, typename Request>
  StatusOr<Response> Ask(std::string_view method, const Request& request,
                         Duration within = kAnswerWithin);

  // All answers come from the other side's memory, and a person waits.
  static constexpr Duration kAnswerWithin = std::chrono::seconds(5);

 private:
  AgentLink(EpollLoop& loop, std::unique_ptr<net::Connection> connection,
            const Interrupt* interrupt)
      : loop_(loop),
        interrupt_(interrupt),
        connection_(std::move(connection)),
        channel_(loop, *connection_) {}

  EpollLoop& loop_;
  const Interrupt* const interrupt_;
  std::unique_ptr<net::Connection> connection_;
  rpc::Channel channel_;
};

// Rephrases an error of Open for the user: `who` ("driver") does not listen on `socket`, with
// `advice`, or only root may use it; other errors stay. Keeps the code.
Status Advise(const Status& failed, std::string_view who, const std::string& socket,
              std::string_view advice);

template <typename Response, typename Request>
StatusOr<Response> AgentLink::Ask(std::string_view method, const Request& request,
                                  Duration within) {
  std::unique_ptr<rpc::Call> call;
  StatusOr<Response> answer = Await<Response>(
      loop_,
      [&](std::function<void(StatusOr<Response>)> done) {
        call = rpc::Unary<Response>(channel_, method, request, within, std::move(done));
      },
      interrupt_);
  if (answer.status().code() != Code::kInvalidArgument) return answer;
  return FailedPrecondition("{}", answer.status().message());
}

}  // namespace galen::cli
