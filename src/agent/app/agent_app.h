// The whole agent: makes the parts, joins them, starts and stops them. Uses no socket, file or
// clock but those of its Edges, so that it runs in a test as it runs on a node.
// Belongs to one loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/app/change_router.h"
#include "agent/app/config.h"
#include "agent/app/inspect_service.h"
#include "agent/app/pod_resources_join.h"
#include "agent/drivers/kubelet_health.h"
#include "agent/drivers/plugin_manager.h"
#include "agent/drivers/plugin_watcher.h"
#include "agent/drivers/source_names.h"
#include "agent/health/departed_devices.h"
#include "agent/health/health_keeper.h"
#include "agent/health/health_merger.h"
#include "agent/health/history_log.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_informers.h"
#include "agent/manager/claim_caller.h"
#include "agent/manager/pod_resources_service.h"
#include "agent/manager/pod_runner.h"
#include "agent/manager/virtual_node.h"
#include "agent/post_mortem/post_mortem_keeper.h"
#include "agent/publish/event_publisher.h"
#include "agent/publish/node_publisher.h"
#include "agent/publish/pod_publisher.h"
#include "base/files/disk_queue.h"
#include "base/repeated_log.h"
#include "history/post_mortem/post_mortem_store.h"
#include "history/store/store.h"

namespace galen::agent {

// A step of starting that others may wait for, as /readyz and `galen doctor` show it.
struct StartStep {
  std::string name;  // "journal replayed"
  bool done = false;

  bool operator==(const StartStep&) const = default;
};

// Create, Start, run the loop, Stop. Destroying it without Stop is like a crash: nothing more is
// written, and unsynced records are lost.
class AgentApp {
 public:
  // Everything here outlives the app.
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    Random& random;
    FileSystem& files;
    net::Dialer& dialer;   // for drivers' sockets
    net::HttpClient& api;  // the API server
    SocketDirectory& registry;
    // Runs Pods' containers as processes; null where containers do not run.
    ContainerProcesses* processes = nullptr;
    std::string path = {};
    // Writes journals; null: they are written in the call.
    DiskQueue* disk = nullptr;
    // Writes what containers print; separate, so that no publication waits for it. REQUIRES: set
    // where `processes` is.
    DiskQueue* container_disk = nullptr;
    // Where health sources have their sockets; null: there are none.
    SocketDirectory* health_sources = nullptr;
  };

  // Makes the state directory (mode 0700) and reads the journal; what is broken in it is in
  // the log and is no error. Starts nothing yet. The caller holds the NodeLock.
  static StatusOr<std::unique_ptr<AgentApp>> Create(Edges edges, AgentConfig config,
                                                    std::string version);

  // To be called once; does not wait. An API server or driver that cannot be reached is tried again
  // for as long as the app lives, and troubles() lists it until it answers.
  void Start();
  // Says on the node's object that the agent has stopped, lets writes that are due end, up to
  // `deadline`, writes the journal, then calls `done`, which may destroy the app. Streams and
  // watches go on until then.
  void Stop(Duration deadline, std::function<void()> done);

  // The API server may allow now what it refused: everything is looked at again.
  void Retry();

  // To be served on the agent's socket.
  net::HttpHandler& inspect() { return dispatcher_; }
  std::vector<StartStep> start_steps() const;
  // Whether every step of start_steps() is done.
  bool ready() const;
  // The agent's present problems, as sentences; empty when there are none. For `galen doctor`: each
  // goes away by itself when its cause does, save a checkpoint that was lost at the start.
  std::vector<std::string> troubles() const;
  const AgentConfig& config() const { return config_; }
  // Writes to Pods and to the node's object since the start; Events are not among them.
  std::uint64_t api_writes() const;

 private:
  AgentApp(Edges edges, AgentConfig config, std::string version,
           std::unique_ptr<history::Store> store,
           std::unique_ptr<history::PostMortemStore> post_mortem_store);

  // Connects the parts once all exist.
  void Connect();
  void OnHealthChanges(const std::vector<HealthChange>& changes);
  bool observes() const { return config_.role == Role::kObserver; }
  // Registers for changes of drivers or health sources.
  void ListenTo(PluginManager& plugins);
  DepartedDevices::Traces TracesOf(const DeviceId& id) const;
  void StopWhenIdle(Duration left, std::function<void()> done);
  void StopWhenWritten(Duration left, std::function<void()> done);
  DeviceHealth HealthOf(const DeviceId& id) const;
  std::string WhyNotReported(const DeviceId& id) const;
  kube::NodeDeviceHealth NodeHealth(const std::vector<kube::Condition>& before) const;
  std::map<DeviceId, HardwareIds> OfferedBy(const std::string& driver) const;
  std::unique_ptr<PodResourcesJoin> MakePodResources();
  PluginManager::Options PluginOptions() const;
  PluginManager::Options SourceOptions() const;
  std::unique_ptr<PluginWatcher> MakeSourceWatcher();
  std::unique_ptr<ProcessRunner> MakeProcessRunner();
  PodPublisher::Options PublisherOptions();
  ChangeRouter::Parts RouterParts();
  PostMortemKeeper::Parts PostMortemParts();
  InspectService::Parts InspectParts();
  AgentStatus StatusNow() const;
  // Sets the gauges that are read from the parts; called for each scrape.
  void Collect(Metrics& metrics);

  Edges edges_;
  const AgentConfig config_;
  const std::string version_;
  const WallTime started_;
  // In the order in which they are made; each borrows only from those above it.
  const std::unique_ptr<history::Store> store_;
  const std::unique_ptr<history::PostMortemStore> post_mortem_store_;
  kube::Client client_;
  ClockSteps clock_;
  HistoryLog journal_;
  HealthKeeper keeper_;
  ClaimCheckpoint prepared_;
  NodeInformers informers_;
  const std::unique_ptr<PodResourcesJoin> pod_resources_;  // beside a kubelet; else null
  ClaimIndex claims_;
  HealthMerger merger_;
  PluginManager plugins_;
  PluginWatcher watcher_;
  PluginManager sources_;  // health sources beside drivers
  const std::unique_ptr<PluginWatcher> source_watcher_;
  SourceNames source_names_;
  KubeletHealth kubelet_health_;
  EventPublisher events_;
  PostMortemKeeper post_mortems_;
  ClaimCaller claim_caller_;
  const std::unique_ptr<ProcessRunner> processes_;  // null where containers do not run
  PodRunner runner_;
  PodPublisher publisher_;
  NodePublisher node_publisher_;
  ChangeRouter changes_;
  VirtualNode virtual_node_;
  rpc::Dispatcher dispatcher_;
  InspectService inspect_;
  // Only in the manager role: beside a kubelet, the kubelet serves this API.
  std::optional<PodResourcesService> pod_resources_service_;
  DepartedDevices departed_;
  std::string checkpoint_trouble_;
  std::set<std::string> aged_drivers_;  // drivers whose report age is shown
  bool stopping_ = false;
  Timer stop_;
};

}  // namespace galen::agent
