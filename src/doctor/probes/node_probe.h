// The sockets of this node: drivers in the kubelet's registry, and the agent. Asks each what it is,
// all at once, and notifies nobody. Belongs to its loop.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/loop/loop.h"
#include "doctor/observations.h"
#include "doctor/probes/socket_call.h"
#include "net/connection.h"

namespace galen::doctor {

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
