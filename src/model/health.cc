#include "model/health.h"

#include <tuple>

namespace galen {

std::string_view ToString(HealthState state) {
  switch (state) {
    case HealthState::kHealthy:
      return "Healthy";
    case HealthState::kUnknown:
      return "Unknown";
    case HealthState::kDegraded:
      return "Degraded";
    case HealthState::kUnhealthy:
      return "Unhealthy";
  }
  GALEN_UNREACHABLE();
}

std::optional<HealthState> ParseHealthState(std::string_view text) {
  for (const HealthState state : kHealthStates) {
    if (text == ToString(state)) return state;
  }
  return std::nullopt;
}

std::string_view ToString(FaultOwner owner) {
  switch (owner) {
    case FaultOwner::kNobody:
      return "";
    case FaultOwner::kHardware:
      return "Hardware";
    case FaultOwner::kDriver:
      return "Driver";
    case FaultOwner::kApplication:
      return "Application";
    case FaultOwner::kPlatform:
      return "Platform";
  }
  GALEN_UNREACHABLE();
}

FaultOwner ParseFaultOwner(std::string_view text) {
  for (const FaultOwner owner : {FaultOwner::kHardware, FaultOwner::kDriver,
                                 FaultOwner::kApplication, FaultOwner::kPlatform}) {
    if (text == ToString(owner)) return owner;
  }
  return FaultOwner::kNobody;
}

// The share is part of it: half a link is another matter than a quarter of one, though both are
// Degraded.
bool SameFinding(const DeviceHealth& a, const DeviceHealth& b) {
  return a.id == b.id && a.state == b.state && a.share == b.share && a.cause == b.cause;
}

// If two are equally bad, the one with less left is worse.
bool WorseFirst(const DeviceHealth& a, const DeviceHealth& b) {
  return std::tie(b.state, a.share, a.id) < std::tie(a.state, b.share, b.id);
}

HealthState Worse(HealthState a, HealthState b) { return a < b ? b : a; }

std::string Sentence(const DeviceHealth& health) {
  std::string text(ToString(health.state));
  // Since when a device is well is of interest to nobody, and would make each restart look like
  // news.
  if (health.state == HealthState::kHealthy) return text;
  if (health.state == HealthState::kDegraded) text += fmt::format(" {:.2f}", health.share);
  if (health.since != WallTime{}) text += " since " + FormatRfc3339(health.since);
  const std::string& why = health.cause.message.empty() ? health.cause.code : health.cause.message;
  return why.empty() ? text : text + ": " + why;
}

}  // namespace galen
