// How a device is, why, and since when. Values with merge rules; no I/O, no clock, no thread. The
// vocabulary of the whole way of a fault: probes and drivers make these values, the agent bounds
// and keeps them, and what a person reads on a Pod, in an Event or from `galen` is worded here.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/device.h"

namespace galen {

// Ordered from best to worst to show. Unknown means "no information" and is never treated as bad:
// it is normal after a restart of a driver and for drivers without health. Degraded is ours:
// Kubernetes (KEP-4680) has the other three only, so a reader that does not know it gets Healthy or
// Unhealthy, by the driver's choice.
enum class HealthState { kHealthy, kUnknown, kDegraded, kUnhealthy };

// All states in their order, for loops and tables.
inline constexpr HealthState kHealthStates[] = {HealthState::kHealthy, HealthState::kUnknown,
                                                HealthState::kDegraded, HealthState::kUnhealthy};

std::string_view ToString(HealthState state);                        // "Degraded"
std::optional<HealthState> ParseHealthState(std::string_view text);  // exact, as ToString writes it

// Whose matter the fault is: who is to act on it. kApplication says that the workload did it (an
// illegal address, a bad instruction), so replacing the device would not help; kPlatform is the
// host, its fabric or its power.
enum class FaultOwner { kNobody, kHardware, kDriver, kApplication, kPlatform };
std::string_view ToString(FaultOwner owner);        // "Hardware"; "" for kNobody
FaultOwner ParseFaultOwner(std::string_view text);  // kNobody for anything else

// Why a device is in its state. `code` is a CamelCase noun ("XidGpuLost") for programs, stable over
// releases; `message` one sentence for people, of at most kCauseMessageBytesMax bytes where it is
// Galen's and up to Kubernetes' 1024 where it is a driver's; the rest is what was measured, as text
// with its unit apart. Everything is "" when not given. The message must stay the same while
// nothing changes, for each new text is a write to the Pod.
struct Cause {
  std::string code;
  std::string message;
  std::string value;      // "91"
  std::string threshold;  // "85"
  std::string unit;       // "°C"
  FaultOwner owner = FaultOwner::kNobody;

  auto operator<=>(const Cause&) const = default;
};

// Short enough to be read in one column of `kubectl describe` beside the device's name. Well below
// Kubernetes' own limit of 1024 bytes (ResourceHealthMessageMaxLength).
inline constexpr std::size_t kCauseMessageBytesMax = 200;

// Codes that Galen itself gives, whatever the driver. All of them mean that nobody knows, save
// kReported.
namespace cause_code {
inline constexpr std::string_view kDriverSilent = "DriverSilent";  // stream open, deadline passed
inline constexpr std::string_view kDriverGone = "DriverGone";      // socket or stream gone
inline constexpr std::string_view kNotReported =
    "NotReported";  // the driver has no health, or left this device out
inline constexpr std::string_view kHistoryLost =
    "HistoryLost";  // what was written down of it was lost, and it did something meanwhile
inline constexpr std::string_view kReported = "Reported";  // the driver gave a state and no code
}  // namespace cause_code

// One device's present health: its latest report, not a sequence of events.
struct DeviceHealth {
  DeviceId id;
  HealthState state = HealthState::kUnknown;
  // The share of its capability that is left, 0 to 1 (a link at half its width: 0.5); below 1 only
  // when Degraded.
  double share = 1.0;
  Cause cause;
  WallTime since{};                 // of the sign that brought this state and cause
  std::optional<Duration> timeout;  // how long it holds without a new report; nullopt = default

  bool operator==(const DeviceHealth&) const = default;
};

// Kubernetes' default and the kubelet's: 30 s (KEP-4680, DefaultHealthTimeout). Fixed in kubelets
// of 1.34; since 1.35 a driver may say another for each device (health_check_timeout_seconds).
inline constexpr Duration kHealthTimeoutDefault = std::chrono::seconds(30);

// Whether two healths say the same to a person: device, state, share and cause. `since` and
// `timeout` are left out, so that a report that merely refreshes is no change. Shares are compared
// exactly: whoever computes one rounds it first.
bool SameFinding(const DeviceHealth& a, const DeviceHealth& b);

// Worse first; of equal states the one with less left; then by device. A strict weak order for
// sorting: the order in which people are shown devices.
bool WorseFirst(const DeviceHealth& a, const DeviceHealth& b);
// The worse of the two in the order of HealthState: Unknown beats Healthy, any fault beats Unknown.
HealthState Worse(HealthState a, HealthState b);

// What a driver reported at one time: all of its devices, or some of them. A device that is left
// out is not thereby well or gone: its last report holds until its timeout (KEP-4680 has the
// kubelet do the same).
struct HealthReport {
  std::string driver;
  std::vector<DeviceHealth> devices;
};

// A device that went from one finding to another: before and after are of the same device and not
// SameFinding.
struct HealthChange {
  DeviceHealth before;
  DeviceHealth after;

  bool operator==(const HealthChange&) const = default;
};

// What a device is doing, in one line for a person: "Unhealthy since 2026-11-21T14:02:11Z: XID 79:
// …", "Degraded 0.50 since …: PCIe link x8, expected x16: half the bandwidth", "Healthy". The time
// is left out when it is not known; without a message the code stands for it. The text is as long
// as the cause's; callers cut it to their field.
std::string Sentence(const DeviceHealth& health);

}  // namespace galen
