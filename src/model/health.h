// How a device is, why, and since when. Values with merge rules; no I/O, no clock.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/device.h"

namespace galen {

// Ordered from best to worst to show. Unknown means "no information" and is never treated as bad.
enum class HealthState { kHealthy, kUnknown, kDegraded, kUnhealthy };

inline constexpr HealthState kHealthStates[] = {HealthState::kHealthy, HealthState::kUnknown,
                                                HealthState::kDegraded, HealthState::kUnhealthy};

std::string_view ToString(HealthState state);                        // "Degraded"
std::optional<HealthState> ParseHealthState(std::string_view text);  // exact, as ToString writes it

// Whose matter the fault is.
enum class FaultOwner { kNobody, kHardware, kDriver, kApplication, kPlatform };
std::string_view ToString(FaultOwner owner);        // "Hardware"; "" for kNobody
FaultOwner ParseFaultOwner(std::string_view text);  // kNobody for anything else

// Why a device is in its state. `code` is a CamelCase noun ("XidGpuLost"), `message` one sentence
// of at most kCauseMessageBytesMax bytes, the rest is what was measured, as text with its unit
// apart.
struct Cause {
  std::string code;
  std::string message;
  std::string value;      // "91"
  std::string threshold;  // "85"
  std::string unit;       // "°C"
  FaultOwner owner = FaultOwner::kNobody;

  auto operator<=>(const Cause&) const = default;
};

inline constexpr std::size_t kCauseMessageBytesMax = 200;

// Codes that Galen itself gives, whatever the driver.
namespace cause_code {
inline constexpr std::string_view kDriverSilent = "DriverSilent";  // stream open, deadline passed
inline constexpr std::string_view kDriverGone = "DriverGone";      // socket or stream gone
inline constexpr std::string_view kNotReported =
    "NotReported";  // the driver has no health, or left this device out
inline constexpr std::string_view kReported = "Reported";  // the driver gave a state and no code
}  // namespace cause_code

// One device's present health.
struct DeviceHealth {
  DeviceId id;
  HealthState state = HealthState::kUnknown;
  double share = 1.0;  // of its capability that is left; below 1 only when Degraded
  Cause cause;
  WallTime since{};                 // of the sign that brought this state and cause
  std::optional<Duration> timeout;  // how long it holds without a new report; nullopt = default

  bool operator==(const DeviceHealth&) const = default;
};

// Kubernetes' default and kubelet's: 30 s (KEP-4680, DefaultHealthTimeout).
inline constexpr Duration kHealthTimeoutDefault = std::chrono::seconds(30);

// Whether two healths say the same to a person: state, share and cause. `since` and `timeout` are
// left out.
bool SameFinding(const DeviceHealth& a, const DeviceHealth& b);

// Worse first, then by device; the order in which people are shown devices.
bool WorseFirst(const DeviceHealth& a, const DeviceHealth& b);
HealthState Worse(HealthState a, HealthState b);

// What a driver said at one time: all of its devices, or some of them.
struct HealthReport {
  std::string driver;
  std::vector<DeviceHealth> devices;
};

// A device that went from one finding to another.
struct HealthChange {
  DeviceHealth before;
  DeviceHealth after;

  bool operator==(const HealthChange&) const = default;
};

// What a device is doing, in one line for a person: "Unhealthy since 2026-11-21T14:02:11Z: XID 79:
// …", "Degraded 0.50 since …: PCIe link x8, expected x16: half the bandwidth", "Healthy".
std::string Sentence(const DeviceHealth& health);

}  // namespace galen
