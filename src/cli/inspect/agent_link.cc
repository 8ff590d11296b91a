// Tested by inject_test.cc (no socket) and tests/e2e/agent_test.cc (a real agent).
#include "cli/inspect/agent_link.h"

namespace galen::cli {

StatusOr<std::unique_ptr<AgentLink>> AgentLink::Open(EpollLoop& loop, net::Dialer& dialer,
                                                     const std::string& socket,
                                                     const Interrupt* interrupt) {
  // Must exist until the answer comes; destroying it cancels the attempt.
  std::unique_ptr<net::Dialling> dialling;
  net::DialOptions options;
  options.target = "unix:" + socket;
  StatusOr<std::unique_ptr<net::Connection>> connection = Await<std::unique_ptr<net::Connection>>(
      loop,
      [&](std::function<void(StatusOr<std::unique_ptr<net::Connection>>)> done) {
        dialling = dialer.Dial(options, std::move(done));
      },
      interrupt);
  // Its sentence names the socket: "dial unix:/run/galen/agent.sock: …".
  if (!connection.ok()) return connection.status();
  return std::unique_ptr<AgentLink>(new AgentLink(loop, std::move(connection).value(), interrupt));
}

StatusOr<std::unique_ptr<AgentLink>> AgentLink::OpenAgent(EpollLoop& loop, net::Dialer& dialer,
                                                          const std::string& socket,
                                                          const Interrupt* interrupt) {
  StatusOr<std::unique_ptr<AgentLink>> link = Open(loop, dialer, socket, interrupt);
  if (link.ok()) return link;
  return Advise(link.status(), "agent", socket,
                "run this on the Pod's node or in its galen-agent Pod, or name the socket by "
                "--agent-socket or GALEN_AGENT_SOCKET");
}

Status Advise(const Status& failed, std::string_view who, const std::string& socket,
              std::string_view advice) {
  // Rephrased for the user who gave the path.
  if (failed.code() == Code::kNotFound)
    return NotFound("no {} listens on {}: {}", who, socket, advice);
  if (failed.code() == Code::kUnavailable) {
    return Unavailable("no {} listens on {}: {}", who, socket, advice);
  }
  // A process has the socket open but does not answer: it is stopped, or the node is overloaded.
  if (failed.code() == Code::kDeadlineExceeded) {
    return DeadlineExceeded("the {} behind {} does not answer: does it hang, or is it stopped?",
                            who, socket);
  }
  if (failed.code() == Code::kPermissionDenied) {
    return PermissionDenied("the {}'s socket {} is root's: try sudo", who, socket);
  }
  return failed;
}

}  // namespace galen::cli
