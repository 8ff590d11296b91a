// The sockets of this node: drivers in the kubelet's registry, and the agent. Asks each what it is,
// all at once, and notifies nobody. Belongs to its loop.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/loop/loop.h"
#include "doctor/observations.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::doctor {

// One question to a gRPC server on a unix socket of this node, on a connection of its own. Asks
// when it is made; destroying it cancels.
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

// What lies in the registry's directory and the directories below it, as a kubelet walks them; not
// asked yet. NotFound when it is not there.
StatusOr<std::vector<RegistryEntry>> ListRegistry(const std::string& directory);

// Asks, once started, until everything has answered or its time is up.
class NodeProbe {
 public:
  // `done` runs once, on the loop. What is lent outlives the probe.
  NodeProbe(Loop& loop, net::Dialer& dialer, std::function<void()> done);

  // `entries` are filled in as answers come, and are lent until `done`.
  void AskDrivers(std::vector<RegistryEntry>& entries, const std::string& kubelet_root);
  void AskAgent(const std::string& socket, AgentSeen& agent);
  // After which `done` may come; never from inside this.
  void Start();

 private:
  void Ask(const std::string& path, const std::string& method, SocketCall::Done take);
  void AskDriver(RegistryEntry& entry, const std::string& kubelet_root);
  void AskEndpoint(RegistryEntry& entry, const std::string& kubelet_root);
  void Finish();

  Loop& loop_;
  net::Dialer& dialer_;
  const std::function<void()> done_;
  std::size_t open_ = 1;  // what is not answered, and Start
  std::list<std::unique_ptr<SocketCall>> calls_;
  Timer started_;
};

}  // namespace galen::doctor
