// One question to a gRPC server on a unix socket of this node, on a connection of its own. Belongs
// to its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop/loop.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::doctor {

// Asks when it is made. Destroying it cancels.
class SocketCall {
 public:
  // How connecting went (NotFound where there is no socket, Unavailable where nobody listens,
  // PermissionDenied where we may not, DeadlineExceeded where nobody accepts), and the answer's
  // bytes or why there is none.
  using Done = std::function<void(const Status& connected, const StatusOr<std::string>& answer)>;

  // `method` is "/package.Service/Method", or "" to connect and no more. `done` runs once, later;
  // the call is kept until then and not destroyed by it. loop and dialer are lent.
  SocketCall(Loop& loop, net::Dialer& dialer, const std::string& path, std::string method,
             std::string request, Done done);

  static constexpr Duration kConnectWithin = std::chrono::seconds(2);
  // As a kubelet waits for GetInfo (operation_generator.go).
  static constexpr Duration kAnswerWithin = std::chrono::seconds(1);

 private:
  void OnConnected(StatusOr<std::unique_ptr<net::Connection>> connection);

  Loop& loop_;
  const std::string path_, method_, request_;
  const Done done_;
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<rpc::Channel> channel_;
  std::unique_ptr<rpc::Call> call_;
};

}  // namespace galen::doctor
