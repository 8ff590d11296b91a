#include "agent/holdings/plugin_holdings.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace galen::agent {
namespace {

// Ids of plugins that number their devices identify no hardware: "0" is no serial, even where a
// board without one says "0".
constexpr std::size_t kSerialBytesLeast = 4;

// "::" and a number after an id: a time slice of that device (NVIDIA's k8s-device-plugin,
// AnnotatedID).
std::string_view WithoutReplica(std::string_view id) { return id.substr(0, id.find("::")); }

// 8-4-4-4-12 hexadecimal digits.
bool IsUuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  const auto fits = [](char c, char wanted) {
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return wanted == 'x' ? digit : c == wanted;
  };
  return text.size() == kForm.size() && std::ranges::equal(text, kForm, fits);
}

bool IsUuidLike(std::string_view id) {
  return id.starts_with("GPU-") || id.starts_with("MIG-") || IsUuid(id);
}

// The UUID of the GPU in a MIG device's id of the form before NVIDIA's driver 470:
// "MIG-GPU-5f3c…/1/0". "" for any other id.
std::string_view ParentInMig(std::string_view id) {
  constexpr std::string_view kMig = "MIG-";
  if (!id.starts_with("MIG-GPU-")) return "";
  id.remove_prefix(kMig.size());
  return id.substr(0, id.find('/'));
}

}  // namespace

HardwareIds IdsOfPluginDevice(std::string_view device) {
  const std::string_view whole = WithoutReplica(device);
  if (const std::string_view parent = ParentInMig(whole); !parent.empty()) {
    return {.parent_uuid = std::string(parent)};
  }
  const bool replica = whole.size() != device.size();
  if (const std::string address = NormalPciAddress(whole); !address.empty()) {
    return {.pci_address = address};
  }
  if (!IsUuidLike(whole)) {
    return {.serial = whole.size() < kSerialBytesLeast ? "" : std::string(whole)};
  }
  // Time slices share one UUID: each is a part of that device.
  return replica ? HardwareIds{.parent_uuid = std::string(whole)}
                 : HardwareIds{.uuid = std::string(whole)};
}

PluginHoldings::AskedPods PluginHoldings::PodsNow() const {
  AskedPods pods;
  view_.ForEachPod([&](const kube::Pod& pod) {
    if (pod.started) pods[pod.meta.key] = pod.meta.uid;
  });
  return pods;
}

std::vector<ObjectKey> PluginHoldings::Apply(const PodResourcesAnswer& answer,
                                             const AskedPods& asked) {
  std::vector<ObjectKey> changed;
  std::map<ObjectKey, int> times_named;
  for (const PodResources& said : answer.pods) ++times_named[said.pod];
  for (const PodResources& said : answer.pods) {
    const auto uid = asked.find(said.pod);
    const kube::Pod* pod = view_.FindPod(said.pod);
    // The answer names Pods without a UID: it may be about an earlier Pod of the name.
    if (uid == asked.end() || pod == nullptr || pod->meta.uid != uid->second) continue;
    // A Pod that has ended keeps what it held at its end.
    if (HasEnded(*pod)) continue;
    // The answer lists the name twice, a Pod and its successor: which has which devices is unknown.
    if (times_named.at(said.pod) > 1) continue;
    Holder holder{uid->second, said.plugin_devices};
    std::erase_if(holder.devices, [&](const PodResources::PluginDevice& d) {
      return !WantsPluginDevice(*pod, d.container, d.device.driver);
    });
    std::ranges::sort(holder.devices, {},
                      [](const auto& d) { return std::tie(d.device, d.container); });
    // A device that belongs to two NUMA nodes may be listed for each.
    const auto twice = std::ranges::unique(holder.devices);
    holder.devices.erase(twice.begin(), twice.end());
    // A Pod keeps what it got when it was admitted. A kubelet that starts may name its claims
    // before it has read what plugins gave it.
    if (holder.devices.empty()) continue;
    const auto known = pods_.find(said.pod);
    if (known != pods_.end() && known->second == holder) continue;
    pods_[said.pod] = std::move(holder);
    changed.push_back(said.pod);
  }
  return changed;
}

void PluginHoldings::PodChanged(const ObjectKey& pod) {
  const auto it = pods_.find(pod);
  if (it == pods_.end()) return;
  const kube::Pod* present = view_.FindPod(pod);
  if (present == nullptr || present->meta.uid != it->second.uid) pods_.erase(it);
}

std::vector<HeldDevice> PluginHoldings::DevicesOf(const kube::Pod& pod) const {
  std::vector<HeldDevice> devices;
  const auto it = pods_.find(pod.meta.key);
  if (it == pods_.end() || it->second.uid != pod.meta.uid) return devices;
  for (const auto& [container, id] : it->second.devices) {
    if (devices.empty() || devices.back().device != id) {
      devices.push_back({.device = id, .resource = id.driver, .resource_id = id.device});
    }
    // Its entry is named by the resource (KEP-4680).
    devices.back().uses.push_back({container, KindOf(pod, container), id.driver});
  }
  return devices;
}

bool PluginHoldings::Knows(const kube::Pod& pod) const {
  const auto it = pods_.find(pod.meta.key);
  return it != pods_.end() && it->second.uid == pod.meta.uid;
}

std::vector<ObjectKey> PluginHoldings::PodsOf(const DeviceId& device) const {
  std::vector<ObjectKey> pods;
  for (const auto& [pod, holder] : pods_) {
    const kube::Pod* present = view_.FindPod(pod);
    if (present == nullptr || present->meta.uid != holder.uid || HasEnded(*present)) continue;
    if (std::ranges::any_of(holder.devices, [&](const auto& d) { return d.device == device; })) {
      pods.push_back(pod);
    }
  }
  return pods;
}

std::map<DeviceId, HardwareIds> PluginHoldings::OfferedBy(const std::string& resource) const {
  std::map<DeviceId, HardwareIds> offered;
  for (const auto& [pod, holder] : pods_) {
    for (const PodResources::PluginDevice& device : holder.devices) {
      if (device.device.driver != resource) continue;
      offered.try_emplace(device.device, IdsOfPluginDevice(device.device.device));
    }
  }
  return offered;
}

}  // namespace galen::agent
