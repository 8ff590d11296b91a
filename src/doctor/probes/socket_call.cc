// Tested by node_probe_test.cc, whose sockets answer, refuse and hang.
#include "doctor/probes/socket_call.h"

#include <utility>

namespace galen::doctor {
namespace {

// What went wrong, without the path that the dialer and the system name: a report names it once.
Status WithoutPath(const Status& status, const std::string& path) {
  std::string message = status.message();
  for (const std::string& prefix : {"dial unix:" + path + ": ", "connect to unix:" + path + ": "}) {
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
  }
  return {status.code(), std::move(message)};
}

}  // namespace

SocketCall::SocketCall(Loop& loop, net::Dialer& dialer, const std::string& path, std::string method,
                       std::string request, Done done)
    : loop_(loop),
      path_(path),
      method_(std::move(method)),
      request_(std::move(request)),
      done_(std::move(done)) {
  net::DialOptions options;
  options.target = "unix:" + path;
  options.connect_timeout = kConnectWithin;
  dialling_ = dialer.Dial(options, [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
    OnConnected(std::move(connection));
  });
}

void SocketCall::OnConnected(StatusOr<std::unique_ptr<net::Connection>> connection) {
  if (!connection.ok()) {
    const Status why = WithoutPath(connection.status(), path_);
    done_(why, why);
    return;
  }
  connection_ = std::move(connection).value();
  if (method_.empty()) {
    done_(OkStatus(), std::string());
    return;
  }
  channel_.emplace(loop_, *connection_);
  call_ =
      channel_->Unary(method_, request_, kAnswerWithin,
                      [this](const StatusOr<std::string>& answer) { done_(OkStatus(), answer); });
}

}  // namespace galen::doctor
