#include "agent/inspect_service.h"

#include <algorithm>
#include <set>
#include <utility>

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

}  // namespace

// Turns the parts' values into messages. Lists have the order of the parts, which is the same for
// equal states.
struct InspectService::Wire {
  static void PutHolders(const Parts& parts, const DeviceId& id, wire::Device& out) {
    for (const ObjectKey& key : parts.claims.PodsOf(id)) {
      const kube::Pod* pod = parts.view.FindPod(key);
      for (const HeldDevice& held : parts.claims.DevicesOf(key)) {
        if (held.device != id) continue;
        std::vector<ContainerUse> uses = held.uses;
        // A Pod may hold a device that none of its containers sees: it is told without a container.
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
    // No report yet in this process's life; restored devices have a state and no age.
    out.set_report_age_millis(-1);
    if (const HealthCache::Entry* entry = parts.keeper.cache().Find(health.id)) {
      out.set_deadline_millis(Millis(entry->timeout.timeout));
      out.set_deadline_source(std::string(ToString(entry->timeout.source)));
      if (entry->report > 0) {
        out.set_report_age_millis(Millis(parts.loop.Now() - entry->reported));
      }
    }
    PutHolders(parts, health.id, out);
  }

  static wire::ListDevicesResponse Devices(const Parts& parts) {
    wire::ListDevicesResponse response;
    for (const DeviceHealth& health : AllDevices(parts.keeper, parts.claims, parts.health_of)) {
      PutDevice(parts, health, *response.add_devices());
    }
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
    for (const std::string& trouble : status.troubles) response.add_troubles(trouble);
    return response;
  }

  static wire::ListDriversResponse Drivers(const Parts& parts) {
    wire::ListDriversResponse response;
    for (const DriverInfo& info : parts.plugins.drivers()) {
      wire::Driver& out = *response.add_drivers();
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
    }
    return response;
  }

  static StatusOr<wire::ExplainResponse> Explain(const Parts& parts,
                                                 const wire::ExplainRequest& request) {
    const ObjectKey key{request.namespace_(), request.pod()};
    // By device: claims that share one name it once.
    std::set<DeviceId> ids;
    for (const HeldDevice& held : parts.claims.DevicesOf(key)) ids.insert(held.device);
    std::vector<Step> steps = parts.journal.StepsOf(key, {ids.begin(), ids.end()});
    const kube::Pod* pod = parts.view.FindPod(key);
    // Of a Pod that is gone the records tell which devices it had.
    for (const Step& step : steps) {
      if (step.device != DeviceId{}) ids.insert(step.device);
    }
    if (pod == nullptr && steps.empty()) {
      return NotFound("pod {} is not on this node, and nothing is recorded of it", ToString(key));
    }
    wire::ExplainResponse response;
    response.set_node(parts.status().node);
    if (pod != nullptr) response.set_pod_uid(pod->meta.uid);
    for (const DeviceId& id : ids) {
      PutDevice(parts, parts.health_of(id), *response.add_devices());
    }
    for (const Step& step : steps) PutStep(step, *response.add_steps());
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
    const std::string snapshot = Wire::Devices(parts_).SerializeAsString();
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
  watcher->Send(Wire::Devices(parts_).SerializeAsString());
  watchers_[id] = std::move(watcher);
}

DeviceIdentity IdentityOf(const DeviceId& id, const HealthKeeper& keeper, const ClusterView& view) {
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
  std::set<DeviceId> ids;
  for (const auto& [id, entry] : keeper.cache().entries()) ids.insert(id);
  for (const DeviceId& id : claims.HeldDevices()) ids.insert(id);
  std::vector<DeviceHealth> devices;
  for (const DeviceId& id : ids) devices.push_back(health_of(id));
  std::sort(devices.begin(), devices.end(), WorseFirst);
  return devices;
}

}  // namespace galen::agent
