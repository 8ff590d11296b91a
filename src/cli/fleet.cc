#include "cli/fleet.h"

#include <algorithm>
#include <map>

namespace galen::cli {
namespace {

using Devices = std::map<DeviceId, DeviceView>;

// A device that nobody has said anything about yet.
DeviceView& Enter(Devices& devices, const DeviceId& id) {
  const auto [it, fresh] = devices.try_emplace(id);
  DeviceView& view = it->second;
  if (fresh) {
    view.identity.id = id;
    view.node = id.pool;
    view.health.id = id;
    view.health.cause = {.code = std::string(cause_code::kNotReported),
                         .message = "no agent has told of this device",
                         .value = "",
                         .threshold = "",
                         .unit = "",
                         .owner = FaultOwner::kNobody};
  }
  return view;
}

void AddSlices(Devices& devices, const std::vector<kube::ResourceSlice>& slices) {
  for (const kube::ResourceSlice& slice : slices) {
    for (const kube::SliceDevice& device : slice.devices) {
      const DeviceIdentity identity = kube::IdentityOf(slice, device);
      DeviceView& view = Enter(devices, identity.id);
      view.identity = identity;
      if (!slice.node.empty()) view.node = slice.node;
    }
  }
}

void AddHealths(Devices& devices, const std::vector<kube::NodeDeviceHealth>& healths) {
  for (const kube::NodeDeviceHealth& node : healths) {
    for (const kube::NodeDevice& entry : node.devices) {
      DeviceView& view = Enter(devices, entry.identity.id);
      view.node = node.node;
      if (view.identity.serial.empty()) view.identity.serial = entry.identity.serial;
      if (view.identity.model.empty()) view.identity.model = entry.identity.model;
      view.health.state = entry.state;
      view.health.share = entry.share;
      view.health.cause = entry.cause;
      view.health.since = entry.since.value_or(WallTime{});
      if (entry.deadline_seconds > 0) view.deadline_seconds = entry.deadline_seconds;
      view.deadline_source = entry.deadline_source;
    }
  }
}

void AddHolders(Devices& devices, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    for (const AllocatedDevice& allocated : claim.devices) {
      DeviceView& view = Enter(devices, allocated.device);
      for (const PodRef& pod : claim.reserved_for) {
        view.holders.push_back({pod.key, claim.key.name, allocated.request});
      }
    }
  }
}

// What a Pod's own status says of `device`, by the upstream id: only where no agent of ours speaks.
const kube::ResourceHealth* ToldByPod(const kube::Pod& pod, const DeviceId& device) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      for (const kube::ResourceHealth& health : resource.resources) {
        if (health.resource_id == ToString(device)) return &health;
      }
    }
  }
  return nullptr;
}

void AddPods(Devices& devices, const std::vector<kube::Pod>& pods) {
  std::map<ObjectKey, const kube::Pod*> by_key;
  for (const kube::Pod& pod : pods) by_key[pod.meta.key] = &pod;
  for (auto& [id, view] : devices) {
    if (view.health.cause.code != cause_code::kNotReported) continue;
    for (const Holding& holding : view.holders) {
      const auto pod = by_key.find(holding.pod);
      const auto* told = pod == by_key.end() ? nullptr : ToldByPod(*pod->second, id);
      if (told == nullptr) continue;
      view.health.state = ParseHealthState(told->health).value_or(HealthState::kUnknown);
      view.health.cause = {};
      view.health.cause.message = told->message;
    }
  }
}

}  // namespace

Fleet JoinFleet(const FleetObjects& objects) {
  Devices devices;
  AddSlices(devices, objects.slices);
  AddHealths(devices, objects.healths);
  AddHolders(devices, objects.claims);
  AddPods(devices, objects.pods);
  Fleet fleet;
  for (auto& [id, view] : devices) {
    std::sort(view.holders.begin(), view.holders.end());
    fleet.devices.push_back(std::move(view));
  }
  std::stable_sort(
      fleet.devices.begin(), fleet.devices.end(),
      [](const DeviceView& a, const DeviceView& b) { return WorseFirst(a.health, b.health); });
  fleet.nodes = objects.healths;
  return fleet;
}

}  // namespace galen::cli
