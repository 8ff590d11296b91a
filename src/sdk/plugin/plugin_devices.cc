#include "sdk/plugin/plugin_devices.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/text.h"
#include "protos/deviceplugin/v1beta1/deviceplugin.pb.h"
#include "rpc/typed.h"
#include "sdk/inventory.h"

namespace galen::sdk {
namespace {

// The value of Kubernetes' standard attribute, or of the driver's own with the same name.
template <typename Value>
const Value* AttributeOf(const Device& device, const std::string& name) {
  for (const std::string& key : {"resource.kubernetes.io/" + name, name}) {
    const auto it = device.attributes.find(key);
    if (it != device.attributes.end()) return std::get_if<Value>(&it->second);
  }
  return nullptr;
}

bool IsHealthy(const DeviceFinding& finding, bool before, bool degraded_as_unhealthy) {
  switch (finding.health.state) {
    case HealthState::kHealthy:
      return true;
    case HealthState::kUnknown:
      return before;
    case HealthState::kDegraded:
      return !degraded_as_unhealthy;
    case HealthState::kUnhealthy:
      return false;
  }
  GALEN_UNREACHABLE();
}

// "*" matches any characters, also none. Takes at most the product of both lengths.
bool Matches(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, taken = 0;
  std::optional<std::size_t> star;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star) {
      p = *star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

PluginDevices ListDevices(const Inventory& inventory, const HealthSnapshot* health,
                          const PluginDevices& before, bool degraded_as_unhealthy) {
  PluginDevices devices;
  for (const Device& device : inventory) {
    PluginDevice listed;
    if (health != nullptr) {
      const auto finding = health->find(device.name);
      if (finding == health->end()) continue;
      const auto was = before.find(device.name);
      listed.healthy = IsHealthy(finding->second, was == before.end() || was->second.healthy,
                                 degraded_as_unhealthy);
    }
    // An Unhealthy device stays listed as such, so that its Pods show it; the kubelet gives it to
    // no Pod.
    if (listed.healthy && device.offered != Device::Offered::kAlways) continue;
    if (const auto* node = AttributeOf<std::int64_t>(device, "numaNode")) listed.numa_node = *node;
    if (const auto* root = AttributeOf<std::string>(device, "pcieRoot")) listed.pcie_root = *root;
    devices.emplace(device.name, std::move(listed));
  }
  return devices;
}

std::string EncodeList(const PluginDevices& devices) {
  ::v1beta1::ListAndWatchResponse response;
  for (const auto& [id, device] : devices) {
    auto& listed = *response.add_devices();
    listed.set_id(id);
    listed.set_health(device.healthy ? "Healthy" : "Unhealthy");
    if (device.numa_node) listed.mutable_topology()->add_nodes()->set_id(*device.numa_node);
  }
  return rpc::SerializeQuietly(response);
}

bool IsExtendedResource(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.starts_with("requests.")) return false;
  const std::string_view domain = name.substr(0, slash);
  // A domain that contains this text is "native" to Kubernetes.
  if (domain.ends_with("kubernetes.io")) return false;
  // Quota uses the name "requests.<name>", which must be a qualified name too: 253 less 9.
  constexpr std::size_t kDomainMax = 244;
  // The part after the slash follows the rules of label values, as taint values do.
  const std::string_view resource = name.substr(slash + 1);
  return domain.size() <= kDomainMax && IsDnsSubdomain(domain) && !resource.empty() &&
         IsTaintValue(resource);
}

bool IsSelected(std::string_view device, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return Matches(device, pattern);
         });
}

}  // namespace galen::sdk
