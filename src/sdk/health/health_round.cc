#include "sdk/health/health_round.h"

#include <utility>

#include "sdk/inventory.h"

namespace galen::sdk {

void HealthRound::Healthy(std::string_view device, HealthCause note) {
  Say(device, {.state = HealthState::kHealthy, .share = 1, .cause = std::move(note)});
}

void HealthRound::Unhealthy(std::string_view device, HealthCause cause) {
  Say(device, {.state = HealthState::kUnhealthy, .share = 1, .cause = std::move(cause)});
}

void HealthRound::Degraded(std::string_view device, double share, HealthCause cause) {
  Say(device, {.state = HealthState::kDegraded, .share = share, .cause = std::move(cause)});
}

void HealthRound::Unknown(std::string_view device, HealthCause cause) {
  Say(device, {.state = HealthState::kUnknown, .share = 1, .cause = std::move(cause)});
}

void HealthRound::Timeout(std::string_view device, std::chrono::seconds timeout) {
  // An author's loop over made-up names must not fill the memory; what is past the bound is no
  // device's anyway.
  if (timeouts_.size() < kDevicesMax) timeouts_[std::string(device)] = timeout;
}

const HealthRound::Word* HealthRound::Find(std::string_view device) const {
  const auto it = words_.find(device);
  return it == words_.end() ? nullptr : &it->second;
}

std::optional<Duration> HealthRound::TimeoutOf(std::string_view device) const {
  const auto it = timeouts_.find(device);
  if (it == timeouts_.end()) return std::nullopt;
  return it->second;
}

void HealthRound::Say(std::string_view device, Word word) {
  const auto it = words_.find(device);
  // The last report counts, also past the bound.
  if (it != words_.end()) {
    it->second = std::move(word);
  } else if (words_.size() < kDevicesMax) {
    words_.emplace(device, std::move(word));
  }
}

}  // namespace galen::sdk
