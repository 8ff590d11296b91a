// The devices that a device plugin offers, as the kubelet's device manager knows them: an id,
// Healthy or Unhealthy, and its NUMA node. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "galen/driver.h"
#include "sdk/health/health_snapshot.h"

namespace galen::sdk {

// One device of the list.
struct PluginDevice {
  // The health for the kubelet; an Unknown device keeps its last known one.
  bool healthy = true;
  std::optional<std::int64_t> numa_node = {};
  std::string pcie_root = {};  // "pci0000:4a"; "" when it is not known
  bool operator==(const PluginDevice&) const = default;
};
// By id, which is the device's name.
using PluginDevices = std::map<std::string, PluginDevice, std::less<>>;

// The list of `inventory`, where `before` was the last one. `health` is nullptr for a driver
// without health, whose devices are all Healthy. Otherwise a device without health is left out
// until it has one, so that a broken one is never offered as Healthy. Device plugins have no
// Unknown state, and Unknown does not count as broken: such a device keeps its former health, and
// is Healthy if it had none. Degraded is Unhealthy where the driver says so. A device that is not
// always offered is left out unless it is Unhealthy: taints mean nothing to a kubelet's devices.
PluginDevices ListDevices(const Inventory& inventory, const HealthSnapshot* health,
                          const PluginDevices& before, bool degraded_as_unhealthy);

// A ListAndWatchResponse of v1beta1.
std::string EncodeList(const PluginDevices& devices);

// Whether Kubernetes takes `name` for an extended resource: "vendor.com/gpu", not in a domain of
// Kubernetes' own and not "requests.…" (IsExtendedResourceName of k8s.io/kubernetes).
bool IsExtendedResource(std::string_view name);

// Whether the plugin offers the device: patterns may hold "*"; no patterns match all.
bool IsSelected(std::string_view device, const std::vector<std::string>& patterns);

}  // namespace galen::sdk
