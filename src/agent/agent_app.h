// The whole agent: makes the parts, joins them, starts and stops them. Knows no socket, file or
// clock but through what it is lent, so that it runs in a test as it runs on a node.
// Belongs to one loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/claim_index.h"
#include "agent/claim_preparer.h"
#include "agent/config.h"
#include "agent/event_publisher.h"
#include "agent/health_keeper.h"
#include "agent/history_log.h"
#include "agent/inspect_service.h"
#include "agent/node_informers.h"
#include "agent/node_publisher.h"
#include "agent/plugin_manager.h"
#include "agent/plugin_watcher.h"
#include "agent/pod_publisher.h"
#include "agent/pod_runner.h"
#include "agent/virtual_node.h"
#include "history/store.h"

namespace galen::agent {

// A step of starting that others may wait for.
struct Readiness {
  std::string name;  // "journal replayed"
  bool done = false;

  bool operator==(const Readiness&) const = default;
};

class AgentApp final : private ClusterListener {
 public:
  // Changes that come before the API's lists are known; past it the oldest are told to nobody,
  // though every Pod is still looked at.
  static constexpr std::size_t kEarlyChangesMax = 4096;

  // The node's object says nothing before the lists are known, or they were not for this long.
  static constexpr Duration kSyncPatience = std::chrono::seconds(30);

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
  };

  // Reads journal and checkpoint. Starts nothing yet.
  static StatusOr<std::unique_ptr<AgentApp>> Create(Edges edges, AgentConfig config,
                                                    std::string version);

  void Start();
  // Lets writes under way end, up to `deadline`, writes the journal, then calls `done`.
  void Stop(Duration deadline, std::function<void()> done);

  // To be served on the agent's socket.
  net::HttpHandler& inspect() { return dispatcher_; }
  std::vector<Readiness> readiness() const;
  bool ready() const;
  // What hinders right now, as sentences; empty when nothing does.
  std::vector<std::string> troubles() const;
  const AgentConfig& config() const { return config_; }
  std::uint64_t api_writes() const;

 private:
  AgentApp(Edges edges, AgentConfig config, std::string version,
           std::unique_ptr<history::Store> store);

  void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) override;
  void OnClaim(const ObjectKey& key) override;
  void OnIdentities() override;
  void OnSynced() override;

  void OnChanges(const std::vector<HealthChange>& changes);
  void Tell(const HealthChange& change);
  void OnTold(const kube::Pod& pod, const DeviceHealth& health, Duration after_sign);
  void OnDriversChanged();
  void NoteCrashes(const kube::Pod* before, const kube::Pod& after);
  void LookAt(const std::vector<ObjectKey>& pods);
  DeviceHealth HealthOf(const DeviceId& id) const;
  kube::NodeDeviceHealth NodeHealth(const std::vector<kube::Condition>& before) const;
  PluginManager::Options PluginOptions() const;
  PodPublisher::Options PublisherOptions();
  AgentStatus StatusNow() const;
  void Collect(Metrics& metrics) const;

  Edges edges_;
  const AgentConfig config_;
  const std::string version_;
  const WallTime started_;
  const std::unique_ptr<history::Store> store_;
  kube::Client client_;
  HistoryLog journal_;
  HealthKeeper keeper_;
  PreparedClaims prepared_;
  NodeInformers informers_;
  ClaimIndex claims_;
  PluginManager plugins_;
  PluginWatcher watcher_;
  EventPublisher events_;
  ClaimPreparer preparer_;
  PodRunner runner_;
  PodPublisher publisher_;
  NodePublisher node_publisher_;
  VirtualNode virtual_node_;
  rpc::Dispatcher dispatcher_;
  InspectService inspect_;
  std::string checkpoint_trouble_;
  std::vector<HealthChange> early_changes_;
  Timer stop_, impatient_;
};

}  // namespace galen::agent
