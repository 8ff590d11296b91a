#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "agent/app/change_router.h"

namespace galen::agent {

std::vector<DeviceId> AssignedDevices::TakeNew(const kube::Pod& pod,
                                               const std::vector<HeldDevice>& held) {
  std::vector<DeviceId> gained;
  if (HasEnded(pod)) return gained;
  std::set<DeviceId> present;
  for (const HeldDevice& device : held) present.insert(device.device);
  const std::set<DeviceId> before = std::exchange(known_[pod.meta.key], present);
  std::ranges::set_difference(present, before, std::back_inserter(gained));
  // Most Pods hold no device and need no entry.
  if (present.empty()) known_.erase(pod.meta.key);
  return gained;
}

}  // namespace galen::agent
