#include <utility>

#include "sdk/health/health_snapshot.h"
#include "sdk/inventory.h"

namespace galen::sdk {

void HealthRound::Healthy(std::string_view device, HealthCause note) {
  Record(device, {.state = HealthState::kHealthy, .share = 1, .cause = std::move(note)});
}

void HealthRound::Unhealthy(std::string_view device, HealthCause cause) {
  Record(device, {.state = HealthState::kUnhealthy, .share = 1, .cause = std::move(cause)});
}

void HealthRound::Degraded(std::string_view device, double share, HealthCause cause) {
  Record(device, {.state = HealthState::kDegraded, .share = share, .cause = std::move(cause)});
}

void HealthRound::Unknown(std::string_view device, HealthCause cause) {
  Record(device, {.state = HealthState::kUnknown, .share = 1, .cause = std::move(cause)});
}

void HealthRound::Timeout(std::string_view device, std::chrono::seconds timeout) {
  // An author's loop over made-up names must not fill the memory; names beyond the bound are no
  // devices anyway.
  if (timeouts_.size() < kDevicesMax) timeouts_[std::string(device)] = timeout;
}

const HealthRound::Report* HealthRound::Find(std::string_view device) const {
  const auto it = reports_.find(device);
  return it == reports_.end() ? nullptr : &it->second;
}

std::optional<Duration> HealthRound::TimeoutOf(std::string_view device) const {
  const auto it = timeouts_.find(device);
  if (it == timeouts_.end()) return std::nullopt;
  return it->second;
}

void HealthRound::Record(std::string_view device, Report report) {
  const auto it = reports_.find(device);
  // The last report counts, also past the bound.
  if (it != reports_.end()) {
    it->second = std::move(report);
  } else if (reports_.size() < kDevicesMax) {
    reports_.emplace(device, std::move(report));
  }
}

}  // namespace galen::sdk
