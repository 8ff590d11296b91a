#include "agent/app/agent_app.h"

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "base/check.h"
#include "model/plugin_resource.h"

namespace galen::agent {
namespace {

// A node's devices change rarely: a few thousand records, about a megabyte, last for weeks.
constexpr std::size_t kRecordsKeptMax = 5'000;
constexpr std::size_t kRecordBytesKeptMax = std::size_t{2} << 20;
constexpr Duration kStopLook = std::chrono::milliseconds(10);
// A healthy disk needs less than this for the last write.
constexpr Duration kStopWrite = std::chrono::seconds(1);

}  // namespace

StatusOr<std::unique_ptr<AgentApp>> AgentApp::Create(Edges edges, AgentConfig config,
                                                     std::string version) {
  // The journal names Pods of every namespace on the node.
  RETURN_IF_ERROR(edges.files.MakeDirectories(config.state_dir, 0700));
  ASSIGN_OR_RETURN(std::unique_ptr<history::Store> store,
                   history::Store::Open(edges.files, {.directory = config.state_dir + "/journal",
                                                      .records_max = kRecordsKeptMax,
                                                      .bytes_max = kRecordBytesKeptMax,
                                                      .disk = edges.disk}));
  ASSIGN_OR_RETURN(
      auto post_mortems,
      history::PostMortemStore::Open(edges.files, {.directory = config.state_dir + "/post-mortem",
                                                   .age_max = config.post_mortem_age_max,
                                                   .bytes_max = config.post_mortem_bytes_max,
                                                   .disk = edges.disk}));
  for (const std::string& note : store->notes()) edges.log.Warning(note);
  for (const std::string& note : post_mortems->notes()) edges.log.Warning(note);
  metric::Declare(edges.metrics);
  return std::unique_ptr<AgentApp>(new AgentApp(edges, std::move(config), std::move(version),
                                                std::move(store), std::move(post_mortems)));
}

AgentApp::AgentApp(Edges e, AgentConfig config, std::string version,
                   std::unique_ptr<history::Store> store,
                   std::unique_ptr<history::PostMortemStore> post_mortem_store)
    : edges_(e),
      config_(std::move(config)),
      version_(std::move(version)),
      started_(e.loop.WallNow()),
      store_(std::move(store)),
      post_mortem_store_(std::move(post_mortem_store)),
      client_(e.loop, e.api),
      clock_(e.loop),
      journal_(*store_),
      keeper_({e.loop, e.log, e.metrics, journal_}, config_.timeouts,
              [this](const std::vector<HealthChange>& changes) { OnHealthChanges(changes); }),
      prepared_(e.files, config_.state_dir + "/claims.json", e.disk),
      informers_(e.loop, e.log, e.random, client_, config_.node),
      pod_resources_(MakePodResources()),
      claims_(informers_, prepared_,
              [this](const kube::Pod& pod) {
                return pod_resources_ ? pod_resources_->ShownOf(pod) : std::vector<HeldDevice>();
              }),
      merger_(
          {e.loop, e.log, keeper_}, config_.timeouts,
          [this](const std::string& driver) { return OfferedBy(driver); },
          [this](const std::string& driver) { return sources_.MayReport(driver); }),
      plugins_({e.loop, e.random, e.log, e.metrics, e.dialer, merger_.drivers()}, PluginOptions()),
      watcher_(e.loop, e.log, e.registry, plugins_),
      sources_({e.loop, e.random, e.log, e.metrics, e.dialer, merger_.sources()}, SourceOptions()),
      source_watcher_(MakeSourceWatcher()),
      source_names_(e.loop, e.log, plugins_, sources_),
      // A manager's Pods have no kubelet: the agent alone writes that field.
      kubelet_health_({e.loop, informers_, claims_, keeper_, merger_.drivers()},
                      observes() ? config_.unsubscribed : std::set<std::string>{},
                      [this](const std::string& driver) { return plugins_.IsConnected(driver); }),
      events_({e.loop, e.random, e.log, e.metrics, client_}, config_.node),
      post_mortems_(PostMortemParts()),
      claim_caller_({e.loop, plugins_, informers_, prepared_}),
      processes_(MakeProcessRunner()),
      runner_({{e.loop, e.random, e.log, e.metrics, client_},
               informers_,
               claim_caller_,
               events_,
               processes_.get()},
              [this](const ObjectKey& pod) { changes_.OnPrepared(pod); }),
      publisher_({{e.loop, e.random, e.log, e.metrics, client_}, informers_, claims_},
                 PublisherOptions()),
      node_publisher_({e.loop, e.random, e.log, e.metrics, client_}, config_.node,
                      [this](const auto& before) { return NodeHealth(before); }),
      changes_(RouterParts()),
      virtual_node_({e.loop, e.random, e.log, e.metrics, client_}, config_.node, version_),
      dispatcher_(e.loop),
      inspect_(InspectParts(), dispatcher_),
      departed_(
          {e.loop, e.log, keeper_}, [this](const DeviceId& id) { return TracesOf(id); },
          [this] { changes_.OnDevicesChanged(); }) {
  Connect();
}

void AgentApp::Connect() {
  const PodResourcesService::Parts resources{informers_, claims_, edges_.log};
  if (!observes()) pod_resources_service_.emplace(resources, dispatcher_);
  keeper_.OnForgotten([this](const DeviceId& id) {
    post_mortems_.Forget(id);
    merger_.OnForgotten(id);
  });
  for (PluginManager* const plugins : {&plugins_, &sources_}) ListenTo(*plugins);
  edges_.metrics.OnCollect([this](Metrics& metrics) { Collect(metrics); });
}

void AgentApp::OnHealthChanges(const std::vector<HealthChange>& changes) {
  changes_.OnChanges(changes);
  if (pod_resources_) pod_resources_->OnChanges(changes);
}

void AgentApp::ListenTo(PluginManager& plugins) {
  plugins.OnDriversChanged([this] {
    source_names_.OnChanged();
    changes_.OnDriversChanged();
  });
}

void AgentApp::Start() {
  edges_.log.Info(
      "agent starts",
      {{"node", config_.node}, {"role", ToString(config_.role)}, {"version", version_}});
  // Before anybody can report: what a driver says is compared with what was known.
  keeper_.Restore();
  // Before anything is written: the last record shows when the agent last ran.
  post_mortems_.Start(ReadNodeBoot(edges_.files));
  journal_.AgentStarted(edges_.loop.WallNow());
  keeper_.SyncLater();
  if (config_.role == Role::kManager) {
    const Status loaded = prepared_.Load();
    if (!loaded.ok()) {
      checkpoint_trouble_ = loaded.message();
      edges_.log.Error("checkpoint of prepared claims is lost", {{"error", loaded.message()}});
    }
    virtual_node_.Start();
    if (processes_) processes_->Start();
  }
  informers_.Start(changes_);
  changes_.Start();
  departed_.Start();
  if (source_watcher_) source_watcher_->Start();
  watcher_.Start();
}

void AgentApp::Stop(Duration deadline, std::function<void()> done) {
  stopping_ = true;
  if (processes_) processes_->Stop();
  publisher_.Flush();
  node_publisher_.Flush();
  events_.Flush();
  StopWhenIdle(deadline, std::move(done));
}

void AgentApp::StopWhenIdle(Duration left, std::function<void()> done) {
  const bool idle = publisher_.idle() && node_publisher_.idle() && events_.idle() &&
                    (!processes_ || processes_->idle());
  if (idle || left <= Duration::zero()) {
    post_mortems_.Flush();
    journal_.AgentStopped(edges_.loop.WallNow());
    journal_.Sync([this](const Status& synced) {
      if (!synced.ok()) edges_.log.Error("journal is not written", {{"error", synced.message()}});
    });
    return StopWhenWritten(kStopWrite, std::move(done));
  }
  stop_ = edges_.loop.After(
      kStopLook, [this, left, done = std::move(done)] { StopWhenIdle(left - kStopLook, done); });
}

void AgentApp::StopWhenWritten(Duration left, std::function<void()> done) {
  const bool written = !store_->journal().busy() && !post_mortem_store_->journal().busy() &&
                       !prepared_.busy() && (!processes_ || !processes_->writes());
  if (written || left <= Duration::zero()) {
    if (!written) edges_.log.Error("state is not written", {{"error", "the disk hangs"}});
    edges_.log.Info("agent stops");
    return done();
  }
  stop_ = edges_.loop.After(
      kStopLook, [this, left, done = std::move(done)] { StopWhenWritten(left - kStopLook, done); });
}

void AgentApp::Retry() {
  publisher_.Retry();
  changes_.MarkEveryPod();
  node_publisher_.Retry();
}

DepartedDevices::Traces AgentApp::TracesOf(const DeviceId& id) const {
  DepartedDevices::Traces traces;
  traces.held = !informers_.synced() || !claims_.PodsToNotify(id).empty();
  traces.listed = !informers_.synced() || informers_.FindIdentity(id).has_value();
  traces.driver_registered = !watcher_.scanned() || plugins_.IsRegistered(id.driver) ||
                             (IsPluginResource(id.driver) && sources_.IsRegistered(id.driver));
  const auto ages = plugins_.ReportAges();
  if (const auto it = ages.find(id.driver); it != ages.end()) traces.report_age = it->second;
  const auto source_ages = sources_.ReportAges();
  if (const auto it = source_ages.find(id.driver); it != source_ages.end()) {
    traces.report_age = std::min(traces.report_age.value_or(it->second), it->second);
  }
  return traces;
}

DeviceHealth AgentApp::HealthOf(const DeviceId& id) const {
  DeviceHealth health = keeper_.HealthOf(id);
  const bool unknown_here = keeper_.cache().Find(id) == nullptr;
  if (unknown_here && keeper_.cache().LeavesOut(id.driver)) {
    health.cause = LeftOutCause();
  } else if (health.cause.code == cause_code::kNotReported)
    // "Not reported" by itself helps nobody: no driver, no connection and no health are three
    // different things to do.
    health.cause.message = WhyNotReported(id);
  return health;
}

std::string AgentApp::WhyNotReported(const DeviceId& id) const {
  if (IsPluginResource(id.driver)) {
    if (merger_.HasSource(id.driver)) return merger_.WhyNotMatched(id);
    return "no health source for " + id.driver + " reports on this node";
  }
  const std::string why = plugins_.WhyNotReported(id.driver);
  const std::string unmatched = merger_.WhyNotMatched(id);
  return unmatched.empty() ? why : why + "; " + unmatched;
}

std::map<DeviceId, HardwareIds> AgentApp::OfferedBy(const std::string& driver) const {
  if (!IsPluginResource(driver)) return informers_.OfferedBy(driver);
  if (!pod_resources_) return {};
  return pod_resources_->OfferedBy(driver);
}

std::unique_ptr<PodResourcesJoin> AgentApp::MakePodResources() {
  // Where there is no kubelet there are no device plugins either.
  if (!observes()) return nullptr;
  return std::make_unique<PodResourcesJoin>(
      PodResourcesJoin::Edges{edges_.loop, edges_.log, edges_.metrics, edges_.dialer, informers_,
                              claims_, keeper_.cache()},
      PodResourcesReader::Options{.socket = config_.pod_resources_socket(), .node = config_.node},
      [this](const std::vector<ObjectKey>& pods) { changes_.OnPluginDevices(pods); });
}

PluginManager::Options AgentApp::SourceOptions() const {
  const std::string directory = config_.health_sources_directory();
  return {.rules = {.kubelet_root = directory,
                    .health_sources = true,
                    .real_path = [this](const std::string& path) {
                      return edges_.health_sources->RealPath(path);
                    }}};
}

PluginManager::Options AgentApp::PluginOptions() const {
  return {.rules = {.kubelet_root = config_.endpoints_anywhere ? "" : config_.kubelet_root,
                    .real_path =
                        [this](const std::string& path) { return edges_.registry.RealPath(path); }},
          .notify = !observes(),
          .unsubscribed = config_.unsubscribed,
          .kubelet_reports = observes()};
}

std::unique_ptr<PluginWatcher> AgentApp::MakeSourceWatcher() {
  if (edges_.health_sources == nullptr) return nullptr;
  return std::make_unique<PluginWatcher>(edges_.loop, edges_.log, *edges_.health_sources, sources_,
                                         PluginWatcher::Place::kHealthSources);
}

std::unique_ptr<ProcessRunner> AgentApp::MakeProcessRunner() {
  if (edges_.processes == nullptr) return nullptr;
  GALEN_CHECK(edges_.container_disk != nullptr);
  std::vector<std::string> cdi(std::begin(kCdiDirectories), std::end(kCdiDirectories));
  if (!config_.cdi_root.empty()) cdi = {config_.cdi_root};
  return std::make_unique<ProcessRunner>(
      ProcessRunner::Edges{edges_.loop, edges_.random, edges_.log, edges_.metrics, edges_.files,
                           *edges_.container_disk, client_, events_, *edges_.processes, informers_,
                           prepared_},
      ProcessRunner::Options{.node = config_.node,
                             .directory = config_.pods_directory(),
                             .path = edges_.path,
                             .cdi_directories = std::move(cdi)},
      [this](const PodRef& pod) {
        publisher_.MarkDirty(pod.key);
        runner_.MarkDirty(pod);
      });
}

PostMortemKeeper::Parts AgentApp::PostMortemParts() {
  return {.loop = edges_.loop,
          .log = edges_.log,
          .clock = clock_,
          .store = *post_mortem_store_,
          .journal = *store_,
          .claims = claims_,
          .view = informers_,
          .node = config_.node,
          .unseen_since = [this] { return informers_.pods_unseen_since(); },
          .health_of = [this](const DeviceId& id) { return HealthOf(id); },
          .identity_of = [this](const DeviceId& id) { return IdentityOf(id, keeper_, informers_); },
          .publish_event =
              [this](const PodRef& pod, const std::string& subject, const EventText& text,
                     EventPublisher::OnEnd on_end) {
                events_.Publish(pod, subject, text, std::move(on_end));
                const kube::Pod* present = informers_.FindPod(pod.key);
                const bool gone = present == nullptr || present->meta.uid != pod.uid;
                if (gone) events_.Forget(pod);
              },
          .on_notable = [this] { changes_.OnDevicesChanged(); }};
}

PodPublisher::Options AgentApp::PublisherOptions() {
  return {
      .manager = config_.role == Role::kManager,
      .degraded = config_.degraded,
      .health_of = [this](const DeviceId& id) { return HealthOf(id); },
      .health_at = [this](const DeviceId& id,
                          WallTime time) { return post_mortems_.HealthAt(id, time); },
      .set_back =
          [this] {
            clock_.Look();
            return clock_.set_back();
          },
      .patience_with =
          [this](const kube::Pod& pod) {
            return pod_resources_ ? pod_resources_->PatienceWith(pod) : Duration::zero();
          },
      .runs = [this](const kube::Pod& pod) { return !processes_ && runner_.Runs(pod); },
      .run_of = [this](const kube::Pod& pod) -> std::optional<Json> {
        return processes_ ? processes_->StatusOf(pod.ref()) : std::nullopt;
      },
      .on_published = [this](const kube::Pod& pod, const DeviceHealth& health,
                             const Publication& how) { changes_.OnPublished(pod, health, how); }};
}

InspectService::Parts AgentApp::InspectParts() {
  return {.loop = edges_.loop,
          .keeper = keeper_,
          .claims = claims_,
          .view = informers_,
          .plugins = plugins_,
          .health_sources = sources_,
          .journal = journal_,
          .post_mortems = post_mortems_,
          .health_of = [this](const DeviceId& id) { return HealthOf(id); },
          .status = [this] { return StatusNow(); },
          .pod_resources = pod_resources_.get()};
}

ChangeRouter::Parts AgentApp::RouterParts() {
  return {.loop = edges_.loop,
          .log = edges_.log,
          .clock = clock_,
          .view = informers_,
          .claims = claims_,
          .keeper = keeper_,
          .journal = journal_,
          .kubelet = kubelet_health_,
          .events = events_,
          .post_mortems = post_mortems_,
          .publisher = publisher_,
          .node = node_publisher_,
          .runner = config_.role == Role::kManager ? &runner_ : nullptr,
          .health_of = [this](const DeviceId& id) { return HealthOf(id); },
          .drivers = [this] { return plugins_.drivers(); },
          .on_devices_changed =
              [this] {
                merger_.OnSlicesChanged();
                inspect_.Changed();
              },
          .pod_resources = pod_resources_.get()};
}

}  // namespace galen::agent
