#include "agent/publish/ended_findings.h"

#include <utility>

#include "model/fault.h"

namespace galen::agent {

void EndedFindings::Keep(const ObjectKey& pod, const std::vector<HeldDevice>& devices,
                         const HealthOf& health_of) {
  auto& kept = kept_[pod];
  for (const HeldDevice& held : devices) {
    DeviceHealth present = health_of(held.device);
    const auto [it, first] = kept.try_emplace(held.device, present);
    const bool worse = IsFault(present.state) && present.state > it->second.state;
    if (!first && worse) it->second = std::move(present);
  }
}

}  // namespace galen::agent
