// Tested by inject_test.cc (no socket) and tests/e2e/agent_test.cc (a real agent).
#include "cli/agent_link.h"

namespace galen::cli {

StatusOr<std::unique_ptr<AgentLink>> AgentLink::Open(EpollLoop& loop, net::Dialer& dialer,
                                                     const std::string& socket,
                                                     const Interrupt* interrupt) {
  // Lives until the answer is there; dropping it would give the attempt up.
  std::unique_ptr<net::Dialling> dialling;
  net::DialOptions options;
  options.target = "unix:" + socket;
  StatusOr<std::unique_ptr<net::Connection>> connection = Await<std::unique_ptr<net::Connection>>(
      loop,
      [&](std::function<void(StatusOr<std::unique_ptr<net::Connection>>)> done) {
        dialling = dialer.Dial(options, std::move(done));
      },
      interrupt);
  if (!connection.ok()) return Annotate(connection.status(), "connect to {}", socket);
  return std::unique_ptr<AgentLink>(new AgentLink(loop, std::move(connection).value(), interrupt));
}

}  // namespace galen::cli
