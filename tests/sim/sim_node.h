// One simulated node: a disk, sockets, a GPU and a NIC driver, and our agent. Whatever crashes
// loses its memory, and of its disk what was not synced. Belongs to the world's loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/agent_app.h"
#include "agent/fake_socket_directory.h"
#include "base/fake_file_system.h"
#include "kube/transport.h"
#include "net/fake_link.h"
#include "tests/sim/sim_driver.h"

namespace galen::sim {

class SimNode {
 public:
  // An observer stands beside the cluster's own simulated kubelet. Nothing runs yet but the
  // sockets' directory; drivers and agent are started by the world. What is lent outlives the node.
  SimNode(Loop& loop, Random& random, net::FakeNetwork& network, std::string name,
          agent::Role role);
  ~SimNode() { KillAgent(false); }

  void StartAgent();
  // As kill -9, and a power cut for the disk when `power_cut`: what was not synced is gone.
  // Harmless when none runs.
  void KillAgent(bool power_cut);
  // Null while none runs.
  agent::AgentApp* agent() { return agent_.get(); }

  std::vector<std::unique_ptr<SimDriver>>& drivers() { return drivers_; }
  // REQUIRES: there is one of this name.
  SimDriver& driver(const std::string& name);

  // How the way to the API server and to the drivers' sockets is right now.
  net::LinkWeather api_weather;
  net::LinkWeather driver_weather;

  FakeFileSystem& files() { return agent_files_; }
  const std::string& name() const { return name_; }
  agent::Role role() const { return role_; }
  // Whether nothing hinders the agent from hearing and telling right now; for the rules.
  bool undisturbed() const;

 private:
  std::unique_ptr<kube::Transport> MakeTransport(net::Dialer& dialer);

  Loop& loop_;
  Random& random_;
  const std::string name_;
  const agent::Role role_;
  FakeFileSystem agent_files_, driver_files_;
  agent::FakeSocketDirectory registry_;
  sdk::FakeSocketHost sockets_;
  std::unique_ptr<net::Dialer> api_dialer_, driver_dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> driver_transport_;
  std::unique_ptr<kube::Client> driver_api_;
  std::vector<std::unique_ptr<SimDriver>> drivers_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<kube::Transport> agent_transport_;
  std::unique_ptr<agent::AgentApp> agent_;
};

}  // namespace galen::sim
