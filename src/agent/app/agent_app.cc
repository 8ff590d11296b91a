#include "agent/app/agent_app.h"

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "agent/post_mortem/container_crash.h"
#include "model/fault.h"

namespace galen::agent {
namespace {

// A node's devices change rarely: a few thousand records are weeks, and a megabyte.
constexpr std::size_t kRecordsKeptMax = 5'000;
constexpr std::size_t kRecordBytesKeptMax = std::size_t{2} << 20;
constexpr Duration kStopLook = std::chrono::milliseconds(10);

}  // namespace

StatusOr<std::unique_ptr<AgentApp>> AgentApp::Create(Edges edges, AgentConfig config,
                                                     std::string version) {
  // The journal names Pods of every namespace on the node.
  RETURN_IF_ERROR(edges.files.MakeDirectories(config.state_dir, 0700));
  ASSIGN_OR_RETURN(std::unique_ptr<history::Store> store,
                   history::Store::Open(edges.files, {.directory = config.state_dir + "/journal",
                                                      .records_max = kRecordsKeptMax,
                                                      .bytes_max = kRecordBytesKeptMax}));
  ASSIGN_OR_RETURN(
      auto post_mortems,
      history::PostMortemStore::Open(edges.files, {.directory = config.state_dir + "/post-mortem",
                                                   .age_max = config.post_mortem_age_max,
                                                   .bytes_max = config.post_mortem_bytes_max}));
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
      journal_(*store_),
      keeper_({e.loop, e.log, e.metrics, journal_}, config_.timeouts,
              [this](const std::vector<HealthChange>& changes) { OnChanges(changes); }),
      prepared_(e.files, config_.state_dir + "/claims.json"),
      informers_(e.loop, e.log, e.random, client_, config_.node, *this),
      claims_(informers_, prepared_),
      plugins_({e.loop, e.random, e.log, e.metrics, e.dialer, keeper_}, PluginOptions()),
      watcher_(e.loop, e.log, e.registry, plugins_),
      // A manager's Pods have no kubelet: the field is ours.
      kubelet_word_({e.loop, informers_, claims_, keeper_},
                    observes() ? config_.unsubscribed : std::set<std::string>{},
                    [this](const std::string& driver) { return plugins_.IsConnected(driver); }),
      events_({e.loop, e.random, e.log, e.metrics, client_}, config_.node),
      post_mortems_(PostMortemParts()),
      preparer_({e.loop, plugins_, informers_, prepared_}),
      processes_(MakeProcessRunner()),
      runner_({e.loop, e.random, e.log, e.metrics, client_, informers_, preparer_, events_,
               processes_.get()},
              // Prepared devices have CDI ids now, which the index has not seen: it looks at the
              // Pod anew.
              [this](const ObjectKey& pod) { LookAt(claims_.PodChanged(pod)); }),
      publisher_({e.loop, e.random, e.log, e.metrics, client_, informers_, claims_},
                 PublisherOptions()),
      node_publisher_({e.loop, e.random, e.log, e.metrics, client_}, config_.node,
                      [this](const auto& before) { return NodeHealth(before); }),
      virtual_node_({e.loop, e.random, e.log, e.metrics, client_}, config_.node, version_),
      dispatcher_(e.loop),
      inspect_(
          {e.loop, keeper_, claims_, informers_, plugins_, journal_, post_mortems_,
           [this](const DeviceId& id) { return HealthOf(id); }, [this] { return StatusNow(); }},
          dispatcher_) {
  keeper_.OnForgotten([this](const DeviceId& id) { post_mortems_.Forget(id); });
  plugins_.OnDriversChanged([this] { OnDriversChanged(); });
  e.metrics.OnCollect([this](Metrics& metrics) { Collect(metrics); });
}

void AgentApp::Start() {
  edges_.log.Info(
      "agent starts",
      {{"node", config_.node}, {"role", ToString(config_.role)}, {"version", version_}});
  // Before anybody can report: what a driver says is compared with what was known.
  keeper_.Restore();
  // Before anything is written: what was written last tells when the agent was last there.
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
  informers_.Start();
  departing_ = edges_.loop.After(kDepartedEvery, [this] { ForgetDeparted(); });
  // An API server that shows no lists may still take a write, and the node's object then says that
  // we are not ready.
  impatient_ = edges_.loop.After(kSyncPatience, [this] { OnIdentities(); });
  const Status watching = watcher_.Start();
  if (!watching.ok()) return;  // told by the watcher, which goes on by looking now and then
}

void AgentApp::Stop(Duration deadline, std::function<void()> done) {
  stopping_ = true;
  if (processes_) processes_->Stop();
  publisher_.Flush();
  node_publisher_.Flush();
  StopWhenIdle(deadline, std::move(done));
}

void AgentApp::StopWhenIdle(Duration left, std::function<void()> done) {
  const bool idle =
      publisher_.idle() && node_publisher_.idle() && (!processes_ || processes_->idle());
  if (idle || left <= Duration::zero()) {
    post_mortems_.Flush();
    journal_.AgentStopped(edges_.loop.WallNow());
    const Status synced = journal_.Sync();
    if (!synced.ok()) edges_.log.Error("journal is not written", {{"error", synced.message()}});
    edges_.log.Info("agent stops");
    return done();
  }
  stop_ = edges_.loop.After(
      kStopLook, [this, left, done = std::move(done)] { StopWhenIdle(left - kStopLook, done); });
}

void AgentApp::OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) {
  const bool replaced =
      before != nullptr && after != nullptr && before->meta.uid != after->meta.uid;
  // Before the new one is looked at: what the old one was to be told is not for it.
  if (replaced) publisher_.Forget(key);
  // Asked before and after: a Pod that lets go of a device changes the node's object as well.
  const bool held = !claims_.DevicesOf(key).empty();
  LookAt(claims_.PodChanged(key));
  if (after == nullptr) publisher_.Forget(key);
  if (replaced || after == nullptr) events_.Forget(before->ref());
  if (replaced) late_news_.erase(key);
  if (replaced || after == nullptr) assigned_.Forget(key);
  NoteAssigned(key);
  ListenForLateNews(key, after);
  if (after != nullptr) NoteCrashes(before, *after);
  post_mortems_.OnPod(key, before, after);
  if (config_.role == Role::kManager) {
    if (before != nullptr) runner_.MarkDirty(before->ref());
    if (after != nullptr) runner_.MarkDirty(after->ref());
  }
  if (held || !claims_.DevicesOf(key).empty()) OnIdentities();
}

void AgentApp::OnClaim(const ObjectKey& key) {
  const std::vector<ObjectKey> pods = claims_.ClaimChanged(key);
  if (pods.empty()) return;
  LookAt(pods);
  for (const ObjectKey& pod : pods) {
    NoteAssigned(pod);
    post_mortems_.OnClaims(pod);
    const kube::Pod* present = informers_.FindPod(pod);
    // The claim may be what the Pod was waiting for.
    if (present != nullptr && config_.role == Role::kManager) runner_.MarkDirty(present->ref());
  }
  OnIdentities();
}

void AgentApp::OnIdentities() {
  const bool patient = edges_.loop.WallNow() - started_ < kSyncPatience;
  if (informers_.synced()) kubelet_word_.Look();
  if (informers_.synced() || !patient) node_publisher_.MarkDirty();
  inspect_.Changed();
}

void AgentApp::Retry() {
  publisher_.Retry();
  informers_.ForEachPod([this](const kube::Pod& pod) { publisher_.MarkDirty(pod.meta.key); });
  node_publisher_.Retry();
}

void AgentApp::OnSynced() {
  edges_.log.Info("lists of the API server are known", {{"pods_with_claims", claims_.pods()}});
  // Health, Pods and claims are all known from here on, in whatever order they came.
  publisher_.Open();
  for (const HealthChange& change : std::exchange(early_changes_, {})) Tell(change);
  informers_.ForEachPod([this](const kube::Pod& pod) { publisher_.MarkDirty(pod.meta.key); });
  if (config_.role == Role::kManager) runner_.Open();
  post_mortems_.OnSynced();
  OnIdentities();
}

void AgentApp::OnChanges(const std::vector<HealthChange>& changes) {
  post_mortems_.OnChanges(changes);
  for (const HealthChange& change : changes) {
    LogChange(change);
    if (informers_.synced()) {
      Tell(change);
    } else if (early_changes_.size() < kEarlyChangesMax) {
      early_changes_.push_back(change);
    }
  }
  OnIdentities();
}

void AgentApp::LogChange(const HealthChange& change) {
  const auto left_out = changes_told_.Take(change.after.id.driver, edges_.loop.Now());
  if (!left_out) return;
  edges_.log.Info("device changed", {{"device", ToString(change.after.id)},
                                     {"from", ToString(change.before.state)},
                                     {"to", ToString(change.after.state)},
                                     {"code", change.after.cause.code}});
  if (*left_out == 0) return;
  edges_.log.Info("devices of this driver changed too often to publish each",
                  {{"driver", change.after.id.driver}, {"left_out", *left_out}});
}

void AgentApp::Tell(const HealthChange& change) {
  const std::optional<EventText> event = EventOf(change);
  for (const ObjectKey& key : claims_.PodsToTell(change.after.id)) {
    const kube::Pod* pod = informers_.FindPod(key);
    if (pod == nullptr) continue;
    // A Pod that has ended is told what may have ended it, and nothing of the time after.
    if (HasEnded(*pod) && !IsFault(change.after.state)) continue;
    // Expected before it is marked, so that the write that follows is measured.
    publisher_.Expect(key, change.after);
    publisher_.MarkDirty(key);
    if (event) events_.Tell(pod->ref(), ToString(change.after.id), *event);
  }
}

void AgentApp::NoteAssigned(const ObjectKey& key) {
  const kube::Pod* pod = informers_.FindPod(key);
  if (pod == nullptr) return;
  for (const DeviceId& id : assigned_.Look(*pod, claims_.DevicesOf(key))) TellAssigned(*pod, id);
}

void AgentApp::TellAssigned(const kube::Pod& pod, const DeviceId& id) {
  const bool found = !informers_.synced();
  const auto is_ours = [](const kube::PodCondition& c) {
    return c.type == kube::kDevicesCondition;
  };
  // The journal begins later than this Pod, which was told by somebody already.
  if (found && std::ranges::any_of(pod.conditions, is_ours)) return;
  const DeviceHealth health = HealthOf(id);
  // An agent before us noted it.
  if (!journal_.Assigned({pod.ref(), health, found}, edges_.loop.WallNow())) return;
  keeper_.SyncLater();
  publisher_.Expect(pod.meta.key, health);
  if (const std::optional<EventText> event = EventOfAssignment(health)) {
    events_.Tell(pod.ref(), ToString(id), *event);
  }
}

void AgentApp::OnTold(const kube::Pod& pod, const DeviceHealth& health, Duration after_sign) {
  journal_.Told(pod.ref(), health, after_sign, edges_.loop.WallNow());
  keeper_.SyncLater();
}

void AgentApp::ListenForLateNews(const ObjectKey& key, const kube::Pod* pod) {
  const bool listen = pod != nullptr && HasEnded(*pod) && !claims_.DevicesOf(key).empty();
  if (!listen) {
    late_news_.erase(key);
    return;
  }
  if (late_news_.contains(key)) return;
  late_news_[key] = edges_.loop.After(kLateNews, [this, key] {
    claims_.LetGo(key);
    late_news_.erase(key);
  });
}

void AgentApp::ForgetDeparted() {
  departing_ = edges_.loop.After(kDepartedEvery, [this] { ForgetDeparted(); });
  const auto departed = departed_.Look(
      keeper_.cache(), [this](const DeviceId& id) { return TracesOf(id); }, edges_.loop.Now());
  for (const DeviceId& id : departed) {
    edges_.log.Info("device has left, it is forgotten", {{"device", ToString(id)}});
    keeper_.Forget(id, "neither its driver nor a slice nor a Pod names it any more");
  }
  if (!departed.empty()) OnIdentities();
}

DepartedDevices::Traces AgentApp::TracesOf(const DeviceId& id) const {
  DepartedDevices::Traces traces;
  traces.held = !informers_.synced() || !claims_.PodsToTell(id).empty();
  traces.listed = !informers_.synced() || informers_.FindIdentity(id).has_value();
  traces.driver_registered = !watcher_.scanned() || plugins_.IsRegistered(id.driver);
  const auto ages = plugins_.ReportAges();
  if (const auto it = ages.find(id.driver); it != ages.end()) traces.report_age = it->second;
  return traces;
}

// What is said of devices that nobody reported depends on who is there.
void AgentApp::OnDriversChanged() {
  for (const DeviceId& id : claims_.HeldDevices()) {
    // Devices that somebody reported are told by their own changes.
    if (keeper_.cache().Find(id) == nullptr) LookAt(claims_.PodsOf(id));
  }
  // By instance: in a rolling update the new one may do at once what the old one could not.
  decltype(connected_drivers_) connected;
  for (const DriverInfo& driver : plugins_.drivers()) {
    if (driver.connected && driver.authority) connected.emplace(driver.name, driver.socket);
  }
  const auto before = std::exchange(connected_drivers_, connected);
  if (!std::ranges::includes(before, connected)) runner_.OnDriverConnected();
  OnIdentities();
}

void AgentApp::NoteCrashes(const kube::Pod* before, const kube::Pod& after) {
  std::vector<DeviceId> devices;
  for (const HeldDevice& held : claims_.DevicesOf(after.meta.key)) devices.push_back(held.device);
  if (devices.empty()) return;
  for (const Crash& crash : NewCrashes(before, after)) {
    journal_.Crashed(crash, devices);
    keeper_.SyncLater();
  }
}

void AgentApp::LookAt(const std::vector<ObjectKey>& pods) {
  for (const ObjectKey& pod : pods) publisher_.MarkDirty(pod);
}

DeviceHealth AgentApp::HealthOf(const DeviceId& id) const {
  DeviceHealth health = keeper_.HealthOf(id);
  if (keeper_.cache().Find(id) == nullptr)
    // "Not reported" by itself helps nobody: no driver, no connection and no health are three
    // different things to do.
    health.cause.message = plugins_.WhyNotReported(id.driver);
  return health;
}

PluginManager::Options AgentApp::PluginOptions() const {
  return {.rules = {.kubelet_root = config_.endpoints_anywhere ? "" : config_.kubelet_root,
                    .real_path =
                        [this](const std::string& path) { return edges_.registry.RealPath(path); }},
          .notify = !observes(),
          .unsubscribed = config_.unsubscribed,
          .kubelet_speaks = observes()};
}

std::unique_ptr<ProcessRunner> AgentApp::MakeProcessRunner() {
  if (edges_.processes == nullptr) return nullptr;
  std::vector<std::string> cdi(std::begin(kCdiDirectories), std::end(kCdiDirectories));
  if (!config_.cdi_root.empty()) cdi = {config_.cdi_root};
  return std::make_unique<ProcessRunner>(
      ProcessRunner::Edges{edges_.loop, edges_.random, edges_.log, edges_.files, client_, events_,
                           *edges_.processes, informers_, prepared_},
      ProcessRunner::Options{.node = config_.node,
                             .directory = config_.pods_directory(),
                             .path = edges_.path,
                             .cdi_directories = std::move(cdi)},
      [this](const PodRef& pod) {
        LookAt({pod.key});
        runner_.MarkDirty(pod);
      });
}

PostMortemKeeper::Parts AgentApp::PostMortemParts() {
  return {.loop = edges_.loop,
          .log = edges_.log,
          .store = *post_mortem_store_,
          .journal = *store_,
          .claims = claims_,
          .view = informers_,
          .node = config_.node,
          .unseen_since = [this] { return informers_.pods_unseen_since(); },
          .health_of = [this](const DeviceId& id) { return HealthOf(id); },
          .identity_of = [this](const DeviceId& id) { return IdentityOf(id, keeper_, informers_); },
          .tell =
              [this](const PodRef& pod, const std::string& subject, const EventText& text) {
                events_.Tell(pod, subject, text);
                const kube::Pod* present = informers_.FindPod(pod.key);
                const bool gone = present == nullptr || present->meta.uid != pod.uid;
                if (gone) events_.Forget(pod);
              },
          .on_notable = [this] { OnIdentities(); }};
}

PodPublisher::Options AgentApp::PublisherOptions() {
  return {.manager = config_.role == Role::kManager,
          .degraded = config_.degraded,
          .health_of = [this](const DeviceId& id) { return HealthOf(id); },
          .runs = [this](const kube::Pod& pod) { return !processes_ && runner_.Runs(pod); },
          .run_of = [this](const kube::Pod& pod) -> std::optional<Json> {
            return processes_ ? processes_->StatusOf(pod.ref()) : std::nullopt;
          },
          .on_told = [this](const kube::Pod& pod, const DeviceHealth& health,
                            Duration after_sign) { OnTold(pod, health, after_sign); }};
}

}  // namespace galen::agent
