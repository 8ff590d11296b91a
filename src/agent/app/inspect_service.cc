#include "agent/app/inspect_service.h"

#include <algorithm>
#include <set>
#include <utility>

#include "history/post_mortem/post_mortem_text.h"
#include "history/post_mortem/relevant_finding.h"
#include "model/plugin_resource.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

namespace wire = galen::inspect::v1;

std::int64_t Nanos(WallTime time) { return time.time_since_epoch().count(); }

std::int64_t Millis(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

void PutCause(const Cause& cause, wire::Cause& out) {
  out.set_code(cause.code);
  out.set_message(cause.message);
  out.set_value(cause.value);
  out.set_threshold(cause.threshold);
  out.set_unit(cause.unit);
  out.set_owner(std::string(ToString(cause.owner)));
}

void PutHealth(const DeviceHealth& health, wire::Device& out) {
  out.set_driver(health.id.driver);
  out.set_pool(health.id.pool);
  out.set_device(health.id.device);
  out.set_state(std::string(ToString(health.state)));
  out.set_share(health.share);
  PutCause(health.cause, *out.mutable_cause());
  out.set_since_unix_nanos(Nanos(health.since));
}

// The device of a record, which may be null; null when it has no such device.
const history::PostMortemDevice* FindDevice(const history::PostMortem* record, const DeviceId& id) {
  if (record == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      record->devices, [&](const auto& device) { return device.identity.id == id; });
  return found == record->devices.end() ? nullptr : &*found;
}

}  // namespace

// Turns the parts' values into messages. Lists have the order of the parts, which is the same for
// equal states.
struct InspectService::Wire {
  // What the Pod holds, including devices of device plugins that no health source reports: those
  // are not published on the Pod, but shown here.
  static std::vector<HeldDevice> HeldBy(const Parts& parts, const ObjectKey& key) {
    std::vector<HeldDevice> held = parts.claims.DevicesOf(key);
    const kube::Pod* pod = parts.view.FindPod(key);
    if (pod == nullptr || parts.pod_resources == nullptr) return held;
    if (HasEnded(*pod)) {
      // The kubelet gives a plugin's device to another Pod as soon as its Pod has ended; the Pod's
      // records show how the device was then.
      std::erase_if(held, [](const HeldDevice& h) { return IsPluginResource(h.device.driver); });
      return held;
    }
    for (HeldDevice& device : parts.pod_resources->AllOf(*pod)) {
      const bool shown = std::ranges::any_of(
          held, [&](const HeldDevice& other) { return other.device == device.device; });
      if (!shown) held.push_back(std::move(device));
    }
    return held;
  }

  static void PutHolders(const Parts& parts, const DeviceId& id, wire::Device& out) {
    std::vector<ObjectKey> pods = parts.claims.PodsOf(id);
    if (pods.empty() && parts.pod_resources != nullptr) pods = parts.pod_resources->PodsOf(id);
    for (const ObjectKey& key : pods) {
      const kube::Pod* pod = parts.view.FindPod(key);
      for (const HeldDevice& held : HeldBy(parts, key)) {
        if (held.device != id) continue;
        std::vector<ContainerUse> uses = held.uses;
        // A Pod may hold a device that none of its containers sees: it is listed without a
        // container.
        if (uses.empty()) uses.emplace_back();
        for (const ContainerUse& use : uses) {
          wire::Holder& holder = *out.add_holders();
          holder.set_namespace_(key.ns);
          holder.set_pod(key.name);
          holder.set_pod_uid(pod == nullptr ? "" : pod->meta.uid);
          holder.set_container(use.container);
          holder.set_claim(held.claim);
          holder.set_request(held.request);
        }
      }
    }
  }

  static void PutDevice(const Parts& parts, const DeviceHealth& health, wire::Device& out) {
    PutHealth(health, out);
    const DeviceIdentity identity = IdentityOf(health.id, parts.keeper, parts.view);
    out.set_serial(identity.serial);
    out.set_model(identity.model);
    // No report yet since the agent started: restored devices have a state and no report age.
    out.set_report_age_millis(-1);
    if (const HealthCache::Entry* entry = parts.keeper.cache().Find(health.id)) {
      out.set_deadline_millis(Millis(entry->timeout.timeout));
      out.set_deadline_source(std::string(ToString(entry->timeout.source)));
      out.set_deadline_rule(entry->timeout.rule);
      if (entry->report > 0) out.set_report_age_millis(Millis(parts.loop.Now() - entry->reported));
    }
    PutHolders(parts, health.id, out);
  }

  // As it was when the Pod ended: by now another Pod may hold it.
  static void PutEndedDevice(const history::PostMortem& record,
                             const history::PostMortemDevice& device, wire::Device& out) {
    const history::ReceivedFinding* finding = history::FindingAtTheEnd(record, device);
    PutHealth(finding != nullptr ? finding->health : NotReportedHealth(device.identity.id), out);
    out.set_serial(device.identity.serial);
    out.set_model(device.identity.model);
    out.set_report_age_millis(-1);
    wire::Holder& holder = *out.add_holders();
    holder.set_namespace_(record.pod.key.ns);
    holder.set_pod(record.pod.key.name);
    holder.set_pod_uid(record.pod.uid);
    holder.set_claim(device.claim);
  }

  // The devices of a Pod that runs are shown as they are now.
  static void PutDevices(const Parts& parts, const std::set<DeviceId>& ids,
                         const history::PostMortem* ended, wire::ExplainResponse& out) {
    for (const DeviceId& id : ids) {
      wire::Device& device = *out.add_devices();
      const history::PostMortemDevice* held = FindDevice(ended, id);
      held != nullptr ? PutEndedDevice(*ended, *held, device)
                      : PutDevice(parts, parts.health_of(id), device);
    }
  }

  static wire::ListDevicesResponse Devices(const Parts& parts) {
    wire::ListDevicesResponse response;
    std::vector<DeviceHealth> devices = AllDevices(parts.keeper, parts.claims, parts.health_of);
    std::ranges::sort(devices, WorseFirst);
    for (const DeviceHealth& health : devices) PutDevice(parts, health, *response.add_devices());
    return response;
  }

  static wire::GetStatusResponse Status(const Parts& parts) {
    const AgentStatus status = parts.status();
    wire::GetStatusResponse response;
    response.set_version(status.version);
    response.set_node(status.node);
    response.set_role(status.role);
    response.set_started_unix_nanos(Nanos(status.started));
    response.set_changes(parts.keeper.changes());
    response.set_journal_records(parts.journal.records());
    response.set_api_writes(status.api_writes);
    response.set_pod_writes(status.pod_writes);
    for (const std::string& trouble : status.troubles) response.add_troubles(trouble);
    for (const std::string& difference : status.holding_differences) {
      response.add_holding_differences(difference);
    }
    response.set_all_published(status.all_published);
    return response;
  }

  static wire::Driver ToDriver(const DriverInfo& info) {
    wire::Driver out;
    out.set_name(info.name);
    out.set_endpoint(info.endpoint);
    out.set_registration_socket(info.socket);
    out.set_service(std::string(ToString(info.service)));
    out.set_health(std::string(ToString(info.health)));
    out.set_connected(info.connected);
    out.set_authority(info.authority);
    if (info.connected_since) out.set_connected_since_unix_nanos(Nanos(*info.connected_since));
    if (info.last_report) out.set_last_report_unix_nanos(Nanos(*info.last_report));
    out.set_reports(info.reports);
    out.set_trouble(info.trouble);
    return out;
  }

  static wire::ListDriversResponse Drivers(const Parts& parts) {
    wire::ListDriversResponse response;
    for (const DriverInfo& info : parts.plugins.drivers()) *response.add_drivers() = ToDriver(info);
    for (const DriverInfo& info : parts.health_sources.drivers()) {
      *response.add_health_sources() = ToDriver(info);
    }
    return response;
  }

  // A user may not know the namespace while the API server is away, or when the Pod is gone.
  static StatusOr<ObjectKey> KeyOf(const Parts& parts, const wire::ExplainRequest& request) {
    const ObjectKey asked{request.namespace_(), request.pod()};
    if (!asked.ns.empty()) return asked;
    std::vector<ObjectKey> named;
    parts.view.ForEachPod([&](const kube::Pod& pod) {
      if (pod.meta.key.name == asked.name) named.push_back(pod.meta.key);
    });
    if (named.size() == 1) return named.front();
    if (named.empty()) return parts.post_mortems.PodNamed(asked.name).value_or(asked);
    return InvalidArgument("{} Pods of this node are called {}: write NAMESPACE/POD", named.size(),
                           asked.name);
  }

  // Notes that qualify the answer, such as that a list is not known yet.
  static void PutNotes(const Parts& parts, const kube::Pod* pod, wire::ExplainResponse& out) {
    const bool claims = pod != nullptr && !ClaimKeysOf(*pod).empty();
    if (claims && !HasEnded(*pod) && parts.claims.DevicesOf(pod->meta.key).empty()) {
      out.add_notes("Its claims give it no device, as far as the agent knows from the API.");
    }
    const bool awaited =
        pod != nullptr && parts.pod_resources != nullptr && parts.pod_resources->Awaits(*pod);
    out.set_devices_awaited(awaited);
    if (awaited) {
      out.add_notes("The kubelet has not said yet which devices of device plugins it has.");
    }
    for (const std::string& trouble : parts.status().troubles) {
      out.add_notes("The agent has a problem: " + trouble + (trouble.ends_with('.') ? "" : "."));
    }
  }

  static void PutLife(const kube::Pod& pod, wire::ExplainResponse& out) {
    out.set_phase(pod.phase);
    if (pod.asked_to_go) out.set_asked_to_go_unix_nanos(Nanos(*pod.asked_to_go));
  }

  // What happens to a device after its Pod's end belongs to another Pod, even while the ended Pod
  // still takes late faults. `pod` is null for a Pod that is gone.
  static Ending EndingOf(const kube::Pod* pod, const std::vector<history::PostMortem>& records) {
    Ending ending;
    std::optional<WallTime> end = pod == nullptr ? std::nullopt : EndOf(*pod);
    if (!records.empty()) {
      ending.until = records.front().until();
      if (pod != nullptr && !end) end = records.front().ended;
    }
    // The API gives ends in whole seconds, rounded down.
    if (end) ending.had_devices = *end + kEndPrecision;
    return ending;
  }

  static StatusOr<wire::ExplainResponse> Explain(const Parts& parts,
                                                 const wire::ExplainRequest& request) {
    ASSIGN_OR_RETURN(const ObjectKey key, KeyOf(parts, request));
    // By device: claims that share one name it once.
    std::set<DeviceId> ids;
    for (const HeldDevice& held : HeldBy(parts, key)) ids.insert(held.device);
    const kube::Pod* pod = parts.view.FindPod(key);
    const std::string uid = pod == nullptr ? "" : pod->meta.uid;
    std::vector<history::PostMortem> records = parts.post_mortems.Records(key);
    // Records of an earlier Pod of that name do not count.
    std::erase_if(records,
                  [&](const auto& record) { return pod != nullptr && record.pod.uid != uid; });
    const bool over = pod == nullptr || HasEnded(*pod);
    for (const history::PostMortem& record : records) {
      for (const auto& device : record.devices) ids.insert(device.identity.id);
    }
    const std::vector<DeviceId> held(ids.begin(), ids.end());
    std::vector<Step> steps =
        over ? parts.journal.StepsOfEnded({key, uid}, held, EndingOf(pod, records))
             : parts.journal.StepsOf({key, uid}, held);
    // For a Pod that is gone the records show which devices it had.
    for (const Step& step : steps) {
      if (step.device != DeviceId{}) ids.insert(step.device);
    }
    if (pod == nullptr && steps.empty() && records.empty()) {
      return NotFound(
          "pod {} is not on this node, and nothing is recorded of it: ask on its own node",
          ToString(key));
    }
    wire::ExplainResponse response;
    response.set_node(parts.status().node);
    response.set_namespace_(key.ns);
    response.set_pod_uid(uid);
    if (pod != nullptr) PutLife(*pod, response);
    PutNotes(parts, pod, response);
    PutDevices(parts, ids, over && !records.empty() ? &records.front() : nullptr, response);
    AddEnds(records, steps);
    for (const Step& step : steps) PutStep(step, *response.add_steps());
    for (const auto& record : records) PutPostMortem(record, *response.add_post_mortems());
    return response;
  }

  // Adds the ends of Pods to the steps. A crash within a Pod that lives on is a step already.
  static void AddEnds(const std::vector<history::PostMortem>& records, std::vector<Step>& steps) {
    for (const history::PostMortem& record : records) {
      if (record.end == history::PodEnd::kCrashed) continue;
      Step step{.time = record.ended,
                .kind = "ended",
                .text = history::EndText(record),
                .source = "galen-agent",
                .device = {}};
      if (const ContainerEnd* end = history::MostRelevantEnd(record)) {
        step.text += ", " + history::TextOf(*end);
      }
      steps.insert(std::ranges::upper_bound(steps, step.time, {}, &Step::time), step);
    }
  }

  static wire::ListPostMortemsResponse PostMortems(const Parts& parts,
                                                   const wire::ListPostMortemsRequest& request) {
    wire::ListPostMortemsResponse response;
    response.set_node(parts.status().node);
    const auto answer = parts.post_mortems.Newest(
        {.ns = request.namespace_(), .name = request.pod(), .bytes_max = kPostMortemBytesMax});
    for (const auto& record : answer.records) PutPostMortem(record, *response.add_post_mortems());
    response.set_left_out(static_cast<int>(answer.left_out));
    return response;
  }

  static void PutStep(const Step& step, wire::Step& out) {
    out.set_unix_nanos(Nanos(step.time));
    out.set_kind(step.kind);
    out.set_text(step.text);
    out.set_source(step.source);
    if (step.device != DeviceId{}) out.set_device(ToString(step.device));
    out.set_message(step.message);
  }
};

InspectService::InspectService(Parts parts, rpc::Dispatcher& dispatcher)
    : parts_(std::move(parts)) {
  const std::string service = "/galen.inspect.v1.Inspect/";
  rpc::AddUnary<wire::GetStatusRequest, wire::GetStatusResponse>(
      dispatcher, service + "GetStatus",
      [this](const auto&, const auto&, auto reply) { reply(Wire::Status(parts_)); });
  rpc::AddUnary<wire::ListDevicesRequest, wire::ListDevicesResponse>(
      dispatcher, service + "ListDevices",
      [this](const auto&, const auto&, auto reply) { reply(Wire::Devices(parts_)); });
  rpc::AddUnary<wire::ListDriversRequest, wire::ListDriversResponse>(
      dispatcher, service + "ListDrivers",
      [this](const auto&, const auto&, auto reply) { reply(Wire::Drivers(parts_)); });
  rpc::AddUnary<wire::ExplainRequest, wire::ExplainResponse>(
      dispatcher, service + "Explain", [this](const auto& request, const auto&, auto reply) {
        reply(Wire::Explain(parts_, request));
      });
  rpc::AddUnary<wire::ListPostMortemsRequest, wire::ListPostMortemsResponse>(
      dispatcher, service + "ListPostMortems",
      [this](const auto& request, const auto&, auto reply) {
        reply(Wire::PostMortems(parts_, request));
      });
  rpc::AddStream<wire::ListDevicesRequest>(
      dispatcher, service + "WatchDevices",
      [this](const auto&, const auto&, std::unique_ptr<rpc::StreamWriter> writer) {
        Watch(std::move(writer));
      });
}

InspectService::~InspectService() = default;

void InspectService::Changed() {
  if (watchers_.empty()) return;
  send_ = parts_.loop.After(Duration::zero(), [this] {
    // One encoding for all watchers.
    const std::string snapshot = rpc::SerializeQuietly(Wire::Devices(parts_));
    for (const auto& [id, watcher] : watchers_) watcher->Send(snapshot);
  });
}

void InspectService::Watch(std::unique_ptr<rpc::StreamWriter> writer) {
  if (watchers_.size() >= kWatchersMax) {
    return writer->Finish(ResourceExhausted("{} watchers are served already", kWatchersMax));
  }
  const std::uint64_t id = next_watcher_++;
  auto watcher =
      std::make_unique<rpc::NewestStream>(std::move(writer), [this, id] { watchers_.erase(id); });
  watcher->Send(rpc::SerializeQuietly(Wire::Devices(parts_)));
  watchers_[id] = std::move(watcher);
}

DeviceIdentity IdentityOf(const DeviceId& id, const HealthKeeper& keeper, const NodeView& view) {
  DeviceIdentity identity = view.FindIdentity(id).value_or(DeviceIdentity{.id = id});
  if (const HealthCache::Entry* entry = keeper.cache().Find(id)) {
    if (!entry->facts.serial.empty()) identity.serial = entry->facts.serial;
    if (!entry->facts.model.empty()) identity.model = entry->facts.model;
  }
  return identity;
}

std::vector<DeviceHealth> AllDevices(
    const HealthKeeper& keeper, const ClaimIndex& claims,
    const std::function<DeviceHealth(const DeviceId&)>& health_of) {
  const auto& known = keeper.cache().entries();
  std::vector<DeviceHealth> devices;
  devices.reserve(known.size());
  for (const auto& [id, entry] : known) devices.push_back(health_of(id));
  for (const DeviceId& id : claims.HeldDevices()) {
    if (!known.contains(id)) devices.push_back(health_of(id));
  }
  return devices;
}

}  // namespace galen::agent
