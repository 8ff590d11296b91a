// The NodeDeviceHealth object: every device of a node for whoever looks at the cluster. Pure;
// holds nothing that ticks, so that equal states give equal objects.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/drivers/plugin_manager.h"
#include "agent/health/health_cache.h"
#include "agent/holdings/claim_index.h"
#include "agent/publish/pod_status.h"
#include "history/post_mortem/post_mortem.h"
#include "kube/objects/node_device_health.h"

namespace galen::agent {

// Everything the object is made of. Lent parts (claims, post_mortems) live until NodeHealthOf
// returns.
struct NodeHealthInput {
  std::string node;
  std::string version;
  // "observer" or "manager".
  std::string role;
  WallTime started{};
  bool synced = false;   // the API's lists are known
  bool stopped = false;  // this is the agent's last write
  DegradedAs degraded = DegradedAs::kHealthy;
  std::vector<DeviceHealth> devices;
  // Asked for each of `devices`, which include those that nobody reported but some Pod holds.
  std::function<EffectiveTimeout(const DeviceId& id)> timeout_of;
  std::function<DeviceIdentity(const DeviceId& id)> identity_of;
  const ClaimIndex* claims = nullptr;
  std::vector<DriverInfo> drivers;
  // Those in which a device had a fault, newest first; null for none.
  const std::vector<history::PostMortem>* post_mortems = nullptr;
};

// Worst first, as far as the object's bounds allow; the summary counts all. `before` is what was
// published last: conditions keep their times.
kube::NodeDeviceHealth NodeHealthOf(const NodeHealthInput& input,
                                    const std::vector<kube::Condition>& before, WallTime now);

}  // namespace galen::agent
