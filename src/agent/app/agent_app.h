// The whole agent: makes the parts, joins them, starts and stops them. Knows no socket, file or
// clock but through what it is lent, so that it runs in a test as it runs on a node.
// Belongs to one loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/app/config.h"
#include "agent/app/inspect_service.h"
#include "agent/drivers/kubelet_word.h"
#include "agent/drivers/plugin_manager.h"
#include "agent/drivers/plugin_watcher.h"
#include "agent/health/departed_devices.h"
#include "agent/health/health_keeper.h"
#include "agent/health/history_log.h"
#include "agent/holdings/assigned_devices.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_informers.h"
#include "agent/manager/claim_preparer.h"
#include "agent/manager/pod_runner.h"
#include "agent/manager/virtual_node.h"
#include "agent/post_mortem/post_mortem_keeper.h"
#include "agent/publish/event_publisher.h"
#include "agent/publish/node_publisher.h"
#include "agent/publish/pod_publisher.h"
#include "base/repeated_log.h"
#include "history/post_mortem/post_mortem_store.h"
#include "history/store/store.h"

namespace galen::agent {

// A step of starting that others may wait for, as /readyz and `galen status` show it.
struct Readiness {
  std::string name;  // "journal replayed"
  bool done = false;

  bool operator==(const Readiness&) const = default;
};

// Create, Start, run the loop, Stop. Destroying it without Stop is as a crash: nothing is told to
// anybody, and what was not synced is lost.
class AgentApp final : private ClusterListener {
 public:
  // Changes that come before the API's lists are known; later ones past it get no Event and no
  // measured delay, though every Pod is still looked at.
  static constexpr std::size_t kEarlyChangesMax = 4096;

  // The node's object says nothing before the lists are known, or they were not for this long.
  static constexpr Duration kSyncPatience = std::chrono::seconds(30);

  // What is learnt this long after a Pod ended may be why it did; later it is another Pod's story.
  static constexpr Duration kLateNews = std::chrono::minutes(5);

  // How often it is looked whether devices have left.
  static constexpr Duration kDepartedEvery = std::chrono::minutes(1);

  // What is lent outlives the app.
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    Random& random;
    FileSystem& files;
    net::Dialer& dialer;   // for drivers' sockets
    net::HttpClient& api;  // the API server
    SocketDirectory& registry;
    // Where the Pods' containers run as processes, with their PATH; null where they do not.
    ContainerProcesses* processes = nullptr;
    std::string path = {};
  };

  // Makes the state directory (mode 0700) and reads the journal; what is broken in it is told in
  // the log and is no error. Starts nothing yet. The caller holds the NodeLock.
  static StatusOr<std::unique_ptr<AgentApp>> Create(Edges edges, AgentConfig config,
                                                    std::string version);

  // Once. Returns at once: what cannot be reached is tried again for as long as the app lives, and
  // troubles() tells.
  void Start();
  // Says on the node's object that nobody looks any more, lets writes that are due end, up to
  // `deadline`, writes the journal, then calls `done`, which may destroy the app. Streams and
  // watches go on until then.
  void Stop(Duration deadline, std::function<void()> done);

  // The API server may allow now what it refused: everything is looked at again.
  void Retry();

  // To be served on the agent's socket.
  net::HttpHandler& inspect() { return dispatcher_; }
  std::vector<Readiness> readiness() const;
  // Whether every step of readiness() is done.
  bool ready() const;
  // What hinders right now, as sentences; empty when nothing does. For `galen status`: each goes
  // away by itself when its cause does, save a checkpoint that was lost at the start.
  std::vector<std::string> troubles() const;
  const AgentConfig& config() const { return config_; }
  // Writes to Pods and to the node's object since the start; Events are not among them.
  std::uint64_t api_writes() const;

 private:
  AgentApp(Edges edges, AgentConfig config, std::string version,
           std::unique_ptr<history::Store> store,
           std::unique_ptr<history::PostMortemStore> post_mortem_store);

  bool observes() const { return config_.role == Role::kObserver; }
  void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) override;
  void OnClaim(const ObjectKey& key) override;
  void OnIdentities() override;
  void OnServerBack() override { publisher_.Retry(); }
  void OnSynced() override;

  // From the keeper, after the journal.
  void OnChanges(const std::vector<HealthChange>& changes);
  // Marks the Pods that hold the device, and gives them an Event if the change is worth one.
  void Tell(const HealthChange& change);
  // In the log; of a driver that flaps only now and then.
  void LogChange(const HealthChange& change);
  // Notes which devices the Pod has got since the last look, and tells it how they were then.
  void NoteAssigned(const ObjectKey& key);
  void TellAssigned(const kube::Pod& pod, const DeviceId& id);
  void OnTold(const kube::Pod& pod, const DeviceHealth& health, Duration after_sign);
  void OnDriversChanged();
  // Writes down containers that ended badly while their Pod holds devices: which of the two came
  // first is what people ask.
  void NoteCrashes(const kube::Pod* before, const kube::Pod& after);
  void ListenForLateNews(const ObjectKey& key, const kube::Pod* pod);
  void ForgetDeparted();
  DepartedDevices::Traces TracesOf(const DeviceId& id) const;
  void StopWhenIdle(Duration left, std::function<void()> done);
  // Marks Pods for the publisher.
  void LookAt(const std::vector<ObjectKey>& pods);
  DeviceHealth HealthOf(const DeviceId& id) const;
  kube::NodeDeviceHealth NodeHealth(const std::vector<kube::Condition>& before) const;
  PluginManager::Options PluginOptions() const;
  std::unique_ptr<ProcessRunner> MakeProcessRunner();
  PodPublisher::Options PublisherOptions();
  PostMortemKeeper::Parts PostMortemParts();
  AgentStatus StatusNow() const;
  // What is read off the parts rather than counted; called for each scrape.
  void Collect(Metrics& metrics);

  Edges edges_;
  const AgentConfig config_;
  const std::string version_;
  const WallTime started_;
  // In the order in which they are made; each borrows only from those above it.
  const std::unique_ptr<history::Store> store_;
  const std::unique_ptr<history::PostMortemStore> post_mortem_store_;
  kube::Client client_;
  HistoryLog journal_;
  HealthKeeper keeper_;
  PreparedClaims prepared_;
  NodeInformers informers_;
  ClaimIndex claims_;
  PluginManager plugins_;
  PluginWatcher watcher_;
  KubeletWord kubelet_word_;
  EventPublisher events_;
  PostMortemKeeper post_mortems_;
  ClaimPreparer preparer_;
  const std::unique_ptr<ProcessRunner> processes_;  // null where containers do not run
  PodRunner runner_;
  PodPublisher publisher_;
  NodePublisher node_publisher_;
  VirtualNode virtual_node_;
  rpc::Dispatcher dispatcher_;
  InspectService inspect_;
  std::string checkpoint_trouble_;
  std::vector<HealthChange> early_changes_;
  LogSparsely changes_told_;
  DepartedDevices departed_;
  std::map<ObjectKey, Timer> late_news_;  // by Pods that ended: until when they are told
  std::set<std::string> aged_drivers_;    // whose reports' age is shown
  // Names of drivers that are connected, each with the socket of the instance that speaks for it.
  std::set<std::pair<std::string, std::string>> connected_drivers_;
  AssignedDevices assigned_;
  bool stopping_ = false;
  Timer stop_, impatient_, departing_;
};

}  // namespace galen::agent
