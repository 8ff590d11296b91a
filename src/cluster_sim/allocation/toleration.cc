#include "cluster_sim/allocation/toleration.h"

#include <algorithm>

namespace galen::cluster_sim {
namespace {

bool Covers(const Toleration& toleration, const DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != ToString(taint.effect)) return false;
  if (toleration.key.empty()) return toleration.exists;
  if (toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

}  // namespace

std::vector<Toleration> ReadTolerations(const Json& tolerations) {
  std::vector<Toleration> read;
  for (const Json& item : tolerations.items()) {
    read.push_back({.key = item["key"].AsString(),
                    .exists = item["operator"].AsString() == "Exists",
                    .value = item["value"].AsString(),
                    .effect = item["effect"].AsString()});
  }
  return read;
}

std::vector<DeviceTaint> ReadTaints(const Json& taints) {
  std::vector<DeviceTaint> read;
  for (const Json& item : taints.items()) {
    read.push_back({.key = item["key"].AsString(),
                    .value = item["value"].AsString(),
                    .effect = ParseTaintEffect(item["effect"].AsString()),
                    .added = std::nullopt});
  }
  return read;
}

bool Tolerates(const std::vector<Toleration>& tolerations, const DeviceTaint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&taint](const Toleration& t) { return Covers(t, taint); });
}

const DeviceTaint* Repelling(const std::vector<DeviceTaint>& taints,
                             const std::vector<Toleration>& tolerations) {
  for (const DeviceTaint& taint : taints) {
    if (taint.effect != TaintEffect::kNone && !Tolerates(tolerations, taint)) return &taint;
  }
  return nullptr;
}

}  // namespace galen::cluster_sim
