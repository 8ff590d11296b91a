// Which taints a Pod or a claim tolerates. The same rules hold for taints of nodes and of devices;
// tolerationSeconds is ignored, since nothing here evicts. Values and pure functions. Source:
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "model/taint.h"

namespace galen::cluster_sim {

// One entry of `tolerations`.
struct Toleration {
  std::string key;      // "" with Exists: every key
  bool exists = false;  // operator Exists; otherwise Equal
  std::string value;
  std::string effect;  // "": every effect

  bool operator==(const Toleration&) const = default;
};

// Reads `tolerations` of a Pod or of a device request; null: none.
std::vector<Toleration> ReadTolerations(const Json& tolerations);

// Reads `taints` of a Node or of a device; null: none. Effects that forbid nothing
// (PreferNoSchedule, None, unknown ones) become TaintEffect::kNone.
std::vector<DeviceTaint> ReadTaints(const Json& taints);

// Whether any of the tolerations matches the taint's key, value and effect.
bool Tolerates(const std::vector<Toleration>& tolerations, const DeviceTaint& taint);

// The first untolerated taint that keeps new Pods away, or nullptr.
const DeviceTaint* Repelling(const std::vector<DeviceTaint>& taints,
                             const std::vector<Toleration>& tolerations);

}  // namespace galen::cluster_sim
