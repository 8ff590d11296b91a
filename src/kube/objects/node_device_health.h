// NodeDeviceHealth (galen.dev/v1alpha1, cluster scoped, named like its node): all that one node
// knows of its devices, for people, dashboards and controllers. Its schema is
// deploy/crds/nodedevicehealths.yaml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "model/claim.h"
#include "model/device.h"
#include "model/health.h"

namespace galen::kube {

// Who uses a device: one container by one claim.
struct DeviceUse {
  ObjectKey pod;
  std::string container;
  std::string claim;  // the ResourceClaim object
  auto operator<=>(const DeviceUse&) const = default;
};

// A device of the node, its health and who holds it.
struct NodeDevice {
  DeviceIdentity identity;
  HealthState state = HealthState::kUnknown;
  double share = 1.0;  // of its capability that is left; written only when Degraded
  std::optional<WallTime> since;
  Cause cause;
  int deadline_seconds = 0;     // 0 = none
  std::string deadline_source;  // "driver", "config" or "default"
  // Set for "config": what its rule names, "pool node-1"; "" for the rule of every device.
  std::string deadline_rule;
  std::vector<DeviceUse> used_by;
  bool operator==(const NodeDevice&) const = default;
};

// A driver of the node and how the agent reaches it.
struct NodeDriver {
  std::string name;
  std::string endpoint;
  std::string version;
  std::string health = "none";  // "v1", "v1alpha1" or "none"
  std::optional<WallTime> connected_since;
  bool operator==(const NodeDriver&) const = default;
};

// The end of a Pod that had a bad device, in short: the node's agent has the whole record.
struct NodePostMortem {
  PodRef pod;
  int number = 1;   // of this Pod's records
  std::string end;  // "Failed", "Crashed", "Evicted", …
  WallTime ended{};
  std::string container;  // the most relevant one, "" when none ended
  std::optional<int> exit_code;
  DeviceId device;                            // with the most relevant health
  HealthState state = HealthState::kUnknown;  // of the device at the end
  std::string code;
  std::string message;  // with the time of a fault before or after the end
  std::string verdict;  // "Hardware", "Application", "Platform", "Undetermined"
  double confidence = 0;
  std::string summary;  // the verdict's sentence
  bool operator==(const NodePostMortem&) const = default;
};

// metav1.Condition.
struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::optional<WallTime> changed;
  bool operator==(const Condition&) const = default;
};

// How many devices are in each state; the parts add up to `devices`.
struct HealthSummary {
  int devices = 0;
  int healthy = 0;
  int degraded = 0;
  int unhealthy = 0;
  int unknown = 0;
  bool operator==(const HealthSummary&) const = default;
};

struct NodeDeviceHealth {
  std::string node;
  std::string uid;
  std::string resource_version;  // "" in one that is to be made
  std::int64_t observed_generation = 0;
  std::string agent_version;
  std::string agent_role;  // "observer" or "manager"
  std::optional<WallTime> agent_since;
  HealthSummary summary;  // of all devices, listed or not
  std::vector<Condition> conditions;
  std::vector<NodeDevice> devices;
  std::vector<NodeDriver> drivers;
  std::vector<NodePostMortem> post_mortems;  // newest end first
  bool operator==(const NodeDeviceHealth&) const = default;
};

// Bounds of the object, those of its schema and one more: with names as long as Kubernetes takes
// them, and with what the API server notes for server-side apply, it stays below the 1.5 MiB that
// etcd takes.
inline constexpr std::size_t kNodeDevicesMax = 256;
inline constexpr std::size_t kDeviceUsesMax = 16;
inline constexpr std::size_t kNodeUsesMax = 1024;  // of all devices; the worst have theirs first
inline constexpr std::size_t kNodeDriversMax = 32;
// NodeDriver::version of a health source, which is not a driver but reports on the devices of one;
// put after the driver's own version where both are there.
inline constexpr std::string_view kHealthSourceVersion = "health source";
inline constexpr std::size_t kNodeConditionsMax = 16;
inline constexpr std::size_t kNodePostMortemsMax = 16;
inline constexpr std::size_t kPostMortemSummaryBytesMax = 512;
inline constexpr std::size_t kConditionMessageBytesMax = 1024;
inline constexpr std::size_t kDeviceFactBytesMax = 64;  // serial, model, code, value, threshold
inline constexpr std::size_t kUnitBytesMax = 16;
inline constexpr std::size_t kDeadlineRuleBytesMax = 320;  // a pool's name has 253 at most

HealthSummary Summarize(const std::vector<DeviceHealth>& devices);

// Worst first, then by name, and cut to the bounds above. A driver that is listed twice, as during
// a rolling update, has one row: of the instance that connected last.
void SortAndBound(NodeDeviceHealth& health);

// Whether `after` has nothing new for a reader of `before`, so that it need not be written.
bool SaysTheSame(const NodeDeviceHealth& before, const NodeDeviceHealth& after);

// The whole object, as for server-side apply. Empty parts are left out.
Json EncodeNodeDeviceHealth(const NodeDeviceHealth& health);
StatusOr<NodeDeviceHealth> DecodeNodeDeviceHealth(const Json& object);

}  // namespace galen::kube
