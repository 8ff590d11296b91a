#include "cli/fleet/fleet.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/plugin_resource.h"

namespace galen::cli {
namespace {

using Devices = std::map<DeviceId, DeviceView>;

// Adds a device without any information yet.
DeviceView& Enter(Devices& devices, const DeviceId& id) {
  const auto [it, fresh] = devices.try_emplace(id);
  DeviceView& view = it->second;
  if (fresh) {
    view.identity.id = id;
    // A default: drivers mostly name a pool after its node.
    view.node = id.pool;
    view.health.id = id;
    view.health.cause = {.code = std::string(cause_code::kNotReported),
                         .message = "no agent has reported this device",
                         .value = "",
                         .threshold = "",
                         .unit = "",
                         .owner = FaultOwner::kNobody};
  }
  return view;
}

// The current slices of each pool: those of its newest complete generation or, if none is complete,
// of its newest. Older ones remain while a driver replaces them, and may list devices that are
// gone.
std::vector<const kube::ResourceSlice*> PresentSlices(
    const std::vector<kube::ResourceSlice>& slices) {
  using Generations = std::map<std::int64_t, std::vector<const kube::ResourceSlice*>>;
  std::map<std::pair<std::string, std::string>, Generations> pools;
  for (const kube::ResourceSlice& slice : slices) {
    pools[{slice.driver, slice.pool}][slice.generation].push_back(&slice);
  }
  std::vector<const kube::ResourceSlice*> present;
  for (const auto& [pool, generations] : pools) {
    auto chosen = generations.rbegin();
    for (auto it = generations.rbegin(); it != generations.rend(); ++it) {
      if (std::ssize(it->second) < it->second.front()->slice_count) continue;
      chosen = it;
      break;
    }
    present.insert(present.end(), chosen->second.begin(), chosen->second.end());
  }
  return present;
}

void AddSlices(Devices& devices, const std::vector<kube::ResourceSlice>& slices) {
  for (const kube::ResourceSlice* slice : PresentSlices(slices)) {
    for (const kube::SliceDevice& device : slice->devices) {
      const DeviceIdentity identity = kube::IdentityOf(*slice, device);
      DeviceView& view = Enter(devices, identity.id);
      view.identity = identity;
      if (!slice->node.empty()) view.node = slice->node;
    }
  }
}

void AddHealths(Devices& devices, const std::vector<kube::NodeDeviceHealth>& healths) {
  for (const kube::NodeDeviceHealth& node : healths) {
    for (const kube::NodeDevice& entry : node.devices) {
      DeviceView& view = Enter(devices, entry.identity.id);
      view.node = node.node;
      // The slice is the driver's own; the agent's identity only fills gaps.
      if (view.identity.serial.empty()) view.identity.serial = entry.identity.serial;
      if (view.identity.model.empty()) view.identity.model = entry.identity.model;
      view.health.state = entry.state;
      view.health.share = entry.share;
      view.health.cause = entry.cause;
      view.health.since = entry.since.value_or(WallTime{});
      if (entry.deadline_seconds > 0) view.deadline_seconds = entry.deadline_seconds;
      view.deadline_source = entry.deadline_source;
      view.deadline_rule = entry.deadline_rule;
    }
  }
}

// The claims with their users. A claim that is reserved for a group of Pods does not list its
// members: they are the group's running Pods that name it.
std::vector<Claim> WithGroupMembers(std::vector<Claim> claims, const std::vector<kube::Pod>& pods) {
  std::map<ObjectKey, std::vector<const kube::Pod*>> naming;
  for (const kube::Pod& pod : pods) {
    if (pod.phase == "Succeeded" || pod.phase == "Failed") continue;
    for (const kube::PodClaim& claim : pod.claims) {
      const std::optional<std::string> object = kube::ClaimObjectName(pod, claim.name);
      if (object) naming[{pod.meta.key.ns, *object}].push_back(&pod);
    }
  }
  for (Claim& claim : claims) {
    for (const kube::Pod* pod : naming[claim.key]) {
      if (claim.IsReservedFor(pod->meta.uid, "")) continue;  // listed already
      if (claim.IsReservedFor(pod->meta.uid, pod->group)) claim.reserved_for.push_back(pod->ref());
    }
  }
  return claims;
}

void AddHolders(Devices& devices, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    for (const AllocatedDevice& allocated : claim.devices) {
      DeviceView& view = Enter(devices, allocated.device);
      for (const PodRef& pod : claim.reserved_for) {
        view.holders.push_back({pod.key, claim.key.name, allocated.request, pod.uid});
      }
    }
  }
}

// Only the kubelet, and through it the node's agent, knows which Pods hold a device plugin's
// device.
void AddPluginHolders(Devices& devices, const std::vector<kube::NodeDeviceHealth>& healths,
                      const std::vector<kube::Pod>& pods) {
  std::map<ObjectKey, std::string> uids;
  for (const kube::Pod& pod : pods) uids[pod.meta.key] = pod.meta.uid;
  for (const kube::NodeDeviceHealth& node : healths) {
    for (const kube::NodeDevice& entry : node.devices) {
      if (!IsPluginResource(entry.identity.id.driver)) continue;
      std::set<ObjectKey> holders;
      for (const kube::DeviceUse& use : entry.used_by) holders.insert(use.pod);
      for (const ObjectKey& pod : holders) {
        const auto uid = uids.find(pod);
        Enter(devices, entry.identity.id)
            .holders.push_back({pod, "", "", uid == uids.end() ? "" : uid->second});
      }
    }
  }
}

void Take(DeviceView& view, const kube::ResourceHealth& entry) {
  view.health.state = ParseHealthState(entry.health).value_or(HealthState::kUnknown);
  view.health.cause = {};
  view.health.cause.message = entry.message;
}

// The kubelet's own field, for devices that no agent reports.
void AddPods(Devices& devices, const std::vector<kube::Pod>& pods,
             const std::vector<Claim>& claims) {
  std::map<ObjectKey, const kube::Pod*> by_key;
  for (const kube::Pod& pod : pods) by_key[pod.meta.key] = &pod;
  for (const Claim& claim : claims) {
    for (const AllocatedDevice& allocated : claim.devices) {
      DeviceView& view = Enter(devices, allocated.device);
      for (const PodRef& holder : claim.reserved_for) {
        if (view.health.cause.code != cause_code::kNotReported) break;
        const auto pod = by_key.find(holder.key);
        if (pod == by_key.end() || pod->second->meta.uid != holder.uid) continue;
        const auto* entry = EntryOfDevice(*pod->second, claim, allocated.device);
        if (entry != nullptr) Take(view, *entry);
      }
    }
  }
}

// Without the NodeDeviceHealth kind, that is the reason, not a silent agent.
void BlameMissingKind(Devices& devices) {
  for (auto& [id, view] : devices) {
    if (view.health.cause.code == cause_code::kNotReported) {
      view.health.cause.message = std::string(kKindMissingShort);
    }
  }
}

// A finding of a node that is not alive is stale. An Unknown one keeps its reason.
void DoubtLapsed(Devices& devices, const NodeLives& lives) {
  for (auto& [id, view] : devices) {
    if (view.health.state == HealthState::kUnknown) continue;
    const std::optional<Lapse> lapse = lives.Find(view.node, false);
    if (!lapse) continue;
    Doubt(view.health.state, view.health.cause, *lapse);
    view.health.share = 1.0;
    if (lapse->since) view.health.since = *lapse->since;
  }
}

}  // namespace

Fleet JoinFleet(const FleetObjects& objects, WallTime now) {
  const NodeLives lives(objects.signs, now);
  Fleet fleet;
  fleet.nodes = objects.healths;
  fleet.kind_missing = objects.kind_missing;
  for (kube::NodeDeviceHealth& node : fleet.nodes) {
    // The agent's own last status is the better reason, and known before any Lease expires.
    std::optional<Lapse> lapse = Goodbye(node);
    if (!lapse) lapse = lives.Find(node.node, true);
    if (lapse) Doubt(node, *lapse);
  }
  Devices devices;
  AddSlices(devices, objects.slices);
  AddHealths(devices, fleet.nodes);
  const bool groups = std::ranges::any_of(
      objects.claims, [](const Claim& claim) { return !claim.reserved_for_groups.empty(); });
  const std::vector<Claim> of_groups =
      groups ? WithGroupMembers(objects.claims, objects.pods) : std::vector<Claim>();
  const std::vector<Claim>& claims = groups ? of_groups : objects.claims;
  AddHolders(devices, claims);
  AddPluginHolders(devices, fleet.nodes, objects.pods);
  AddPods(devices, objects.pods, claims);
  DoubtLapsed(devices, lives);
  if (objects.kind_missing) BlameMissingKind(devices);
  for (auto& [id, view] : devices) {
    std::sort(view.holders.begin(), view.holders.end());
    fleet.devices.push_back(std::move(view));
  }
  std::sort(
      fleet.devices.begin(), fleet.devices.end(),
      [](const DeviceView& a, const DeviceView& b) { return WorseFirst(a.health, b.health); });
  return fleet;
}

}  // namespace galen::cli
