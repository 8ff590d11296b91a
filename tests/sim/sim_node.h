// One simulated node: clocks, a disk, sockets, a GPU and a NIC driver, and our agent. Whatever
// crashes loses its memory, and of its disk what was not synced. Belongs to the world's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/app/agent_app.h"
#include "agent/drivers/fake_plugin.h"
#include "agent/drivers/fake_socket_directory.h"
#include "base/files/fake_disk.h"
#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"
#include "kube/transport.h"
#include "net/fake_link.h"
#include "tests/sim/agent_devices.h"
#include "tests/sim/api_gate.h"
#include "tests/sim/journal_witness.h"
#include "tests/sim/node_loop.h"
#include "tests/sim/sim_driver.h"

namespace galen::sim {

class SimNode {
 public:
  // An observer stands beside the cluster's own simulated kubelet. Nothing runs yet but the
  // sockets' directory; drivers and agent are started by the world.
  // What is lent outlives the node.
  struct World {
    Loop& loop;
    Random& random;
    net::FakeNetwork& network;
    net::HttpHandler& api;
  };
  SimNode(World world, std::string name, agent::Role role);
  ~SimNode();

  // REQUIRES: none runs.
  void StartAgent();
  // As a service manager does that updates it: it ends in order, and `version` starts.
  void UpgradeAgent(std::string version);
  // As kill -9, and a power cut for the disk when `power_cut`: what was not synced is gone.
  // Harmless when none runs.
  void KillAgent(bool power_cut);
  // The same in the middle of its work: when so many more operations of its disk are done, the next
  // one is half done or not at all, and nothing that it does afterwards leaves the process. Taken
  // back when it dies before.
  void KillAgentAtWrite(std::uint64_t operations, bool power_cut);
  // An agent runs afterwards: the present one, which dies at no write any more, or a new one where
  // none runs or its last operation has been done.
  void BringAgentBack();
  // Null while none runs.
  agent::AgentApp* agent() { return agent_.get(); }
  const std::string& agent_version() const { return version_; }
  // What the journal said when the present agent started: each change of a device, and how each was
  // at last. Nullopt: it could not be read.
  struct Journaled {
    std::map<DeviceId, std::vector<DeviceHealth>> changes;
    std::map<DeviceId, DeviceHealth> latest;
  };
  const std::optional<Journaled>& restored() const { return restored_; }
  // What the present agent answered as soon as it had started, before any driver reported.
  const std::map<DeviceId, DeviceHealth>& known() const { return known_; }
  int agent_starts() const { return starts_; }
  // By the clock of the API server.
  WallTime agent_started_at() const { return started_at_; }

  // The whole machine, as when a laptop's lid is closed. Its links are silent meanwhile.
  void Suspend();
  void WakeUp();
  bool sleeps() const { return loop_.still(); }
  NodeLoop& loop() { return loop_; }

  // A driver of another vendor, odd.example.com, is there and behaves as is done to it.
  agent::FakePlugin& StartStranger();
  void StopStranger();
  // Null when there is none.
  agent::FakePlugin* stranger() { return stranger_.get(); }

  std::vector<std::unique_ptr<SimDriver>>& drivers() { return drivers_; }
  // What the agent answers of a Pod's post-mortem records. REQUIRES: an agent runs.
  std::vector<RecordedDevice> PostMortems(const ObjectKey& pod);
  // The devices that containers can be given: the names in the CDI files, "UID-gpu-0".
  std::set<std::string> CdiDevices();
  // REQUIRES: there is one of this name.
  SimDriver& driver(const std::string& name);

  // How the way to the API server and to the drivers' sockets is right now.
  net::LinkWeather api_weather;
  net::LinkWeather driver_weather;

  ApiGate& gate() { return gate_; }
  // The agent is one that is broken so.
  void BreakAgent(AgentMutant mutant);

  // The agent's.
  FakeDisk& disk() { return agent_disk_; }
  // The disk of the agent hangs from now on, or goes on. Harmless where it does already.
  void HangDisk();
  void LetDiskGoOn();
  bool disk_hangs() const { return disk_hangs_; }
  // What it publishes while its disk fails, and until it has surely tried again, may not be kept.
  // By the machine's clock: while it sleeps, nobody tries.
  void DoubtDisk() {
    disk_doubted_at_ = loop_.Now();
    disk_was_doubtful_ = true;
  }
  // At any time until now.
  bool disk_was_doubtful() const { return disk_was_doubtful_; }
  // See JournalWitness::Changes.
  int JournaledChanges(const std::string& device, HealthState state) const {
    return agent_files_.Changes(device, state);
  }
  // See JournalWitness::TimesChanged.
  int TimesChanged(const DeviceId& device, HealthState state) const {
    return agent_files_.TimesChanged(device, state);
  }
  // See JournalWitness::TakeDisorders.
  std::vector<std::string> TakeDisorders() { return agent_files_.TakeDisorders(); }
  bool disk_doubtful() const { return loop_.Now() - disk_doubted_at_ < kDiskDoubt; }
  // Called with what a write to a Pod says that the agent's journal does not have on the disk, when
  // it leaves the agent.
  void OnUnrecorded(std::function<void(const std::string& text)> listener) {
    on_unrecorded_ = std::move(listener);
  }
  // Something was just done to this node.
  void Disturb() { disturbed_at_ = world_.loop.Now(); }
  Time disturbed_at() const { return disturbed_at_; }
  // The same of its way to the API server: whoever is cut off there asks again after a while only.
  void DisturbApi() { api_disturbed_at_ = world_.loop.Now(); }
  Time api_disturbed_at() const { return api_disturbed_at_; }
  const std::string& name() const { return name_; }
  agent::Role role() const { return role_; }
  // Whether nothing hinders the agent from receiving and publishing right now; for the rules.
  bool undisturbed() const;

 private:
  std::unique_ptr<kube::Transport> MakeTransport(net::Dialer& dialer);
  StatusOr<std::unique_ptr<agent::AgentApp>> MakeAgent();

  // The agent tries a disk that failed every 30 s (HealthKeeper::kSyncAgain).
  static constexpr Duration kDiskDoubt = std::chrono::seconds(40);

  // Where what the agent sends is looked at.
  class Outbox;

  // An agent whose disk has stopped under it dies now. REQUIRES: it is not the caller.
  void EndDying();
  std::string StateDir() const;
  void ReadJournal();
  // Removes the files of a directory of the agent.
  void Empty(const std::string& directory);

  World world_;
  NodeLoop loop_;
  const std::string name_;
  const agent::Role role_;
  ApiGate gate_;
  AgentMutant mutant_ = AgentMutant::kNone;
  std::string version_ = "1.0.0";
  std::optional<Journaled> restored_;
  std::map<DeviceId, DeviceHealth> known_;
  int starts_ = 0;
  WallTime started_at_{};
  Time disk_doubted_at_ = Time{} - kDiskDoubt;
  bool disk_was_doubtful_ = false;
  Time disturbed_at_{};
  Time api_disturbed_at_ = Time{} - std::chrono::hours(1);  // not yet
  FakeDisk agent_disk_;
  std::optional<bool> dying_;  // since its disk stopped until it is gone: whether with the power
  bool disk_hangs_ = false;
  std::unique_ptr<FakeDiskQueue> disk_queue_;  // of the agent that runs
  DurableFileSystem agent_durable_{agent_disk_};
  JournalWitness agent_files_{agent_durable_};
  std::function<void(const std::string& text)> on_unrecorded_ = [](const std::string&) {};
  FakeFileSystem driver_files_;
  agent::FakeSocketDirectory registry_;
  net::FakeSocketHost sockets_;
  std::unique_ptr<net::Dialer> api_dialer_, driver_dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> driver_transport_;
  std::unique_ptr<kube::Client> driver_api_;
  std::vector<std::unique_ptr<SimDriver>> drivers_;
  std::unique_ptr<agent::FakePlugin> stranger_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<kube::Transport> agent_transport_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<agent::AgentApp> agent_;
};

}  // namespace galen::sim
