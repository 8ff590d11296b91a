#include <algorithm>
#include <utility>

#include "agent/health/health_cache.h"
#include "agent/publish/pod_publisher.h"
#include "model/fault.h"

namespace galen::agent {

void EndedFindings::Keep(const ObjectKey& pod, WallTime end, const Clock& clock,
                         const std::vector<HeldDevice>& devices, const HealthOf& health_of,
                         const HealthAt& health_at,
                         const std::function<bool(const DeviceId&)>& is_only_its) {
  const Duration behind = std::max(end - clock.now, Duration::zero());
  Ended& kept = kept_.try_emplace(pod, Ended{end, clock.set_back, behind, {}}).first->second;
  const Duration later = clock.set_back - kept.set_back;
  for (const HeldDevice& held : devices) {
    DeviceHealth present = health_of(held.device);
    // Only faults are seen later than they happen.
    const bool may_be_late = IsFault(present.state) && is_only_its(held.device);
    const auto is_of_pod = [&](Duration by) {
      return IsUntilEnd(present.since + by, kept.end, may_be_late);
    };
    const auto it = kept.devices.find(held.device);
    if (it == kept.devices.end()) {
      const bool of_pod = is_of_pod(later);
      kept.devices.emplace(held.device, of_pod ? present : health_at(held.device, kept.end));
    } else if (is_of_pod(later + kept.behind) && kept.end <= clock.now && IsFault(present.state) &&
               present.state > it->second.state) {
      it->second = std::move(present);
    }
  }
}

bool EndedFindings::KnowsAllOf(const ObjectKey& pod) const {
  const auto it = kept_.find(pod);
  return it != kept_.end() && std::ranges::none_of(it->second.devices, [](const auto& device) {
           return SameFinding(device.second, NotReportedHealth(device.first));
         });
}

}  // namespace galen::agent
