#include <algorithm>
#include <utility>

#include "agent/publish/pod_publisher.h"

namespace galen::agent {
namespace {

// An empty one where the Pod has none.
kube::PodCondition DevicesConditionOf(const kube::Pod& pod) {
  const kube::PodCondition* condition = kube::FindDevicesCondition(pod);
  return condition == nullptr ? kube::PodCondition() : *condition;
}

}  // namespace

std::optional<kube::Pod> WrittenConditions::Newer(const kube::Pod& pod) {
  const auto it = pods_.find(pod.meta.key);
  if (it == pods_.end()) return std::nullopt;
  const Written& written = it->second;
  const bool behind =
      written.uid == pod.meta.uid &&
      std::ranges::find(written.passed, DevicesConditionOf(pod)) != written.passed.end();
  if (!behind) {
    // The informer shows what was written, or what somebody else wrote after it.
    pods_.erase(it);
    return std::nullopt;
  }
  kube::Pod newer = pod;
  std::erase_if(newer.conditions, [](const kube::PodCondition& condition) {
    return condition.type == kube::kDevicesCondition;
  });
  newer.conditions.push_back(written.present);
  return newer;
}

void WrittenConditions::Note(const kube::Pod& before, const kube::Pod& after) {
  kube::PodCondition was = DevicesConditionOf(before), is = DevicesConditionOf(after);
  if (is == was || is.type.empty()) return;
  Written& written = pods_[before.meta.key];
  if (std::exchange(written.uid, before.meta.uid) != before.meta.uid) written.passed.clear();
  written.passed.push_back(std::move(was));
  written.present = std::move(is);
  if (written.passed.size() > kBehindMax) pods_.erase(before.meta.key);
}

}  // namespace galen::agent
