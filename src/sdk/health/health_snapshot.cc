#include "sdk/health/health_snapshot.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "protos/dra_health/v1/health.pb.h"
#include "sdk/inventory.h"

namespace galen::sdk {
namespace {

// For codes, values and units: a longer text is a sentence in the wrong field.
constexpr std::size_t kCauseTextBytesMax = 64;
constexpr std::size_t kSignBytesMax = 256;
// 2,100 devices with every text at its bound are just below 4 MiB; past that texts are cut so that
// kDevicesMax devices fit.
constexpr std::size_t kRoomyDevicesMax = 2000;
constexpr std::size_t kTightMessageBytesMax = 200;
// The agent has the same bound, so that a silent device becomes Unknown some day.
constexpr std::chrono::hours kTimeoutMax{24};
// Kubernetes 1.34, whose kubelets read no timeout of a device: pkg/kubelet/cm/dra, healthTimeout.
constexpr std::chrono::seconds kOldKubeletTimeout{30};

FaultOwner FaultOwnerOf(HealthCause::Owner owner) {
  switch (owner) {
    case HealthCause::Owner::kUnsaid:
      return FaultOwner::kNobody;
    case HealthCause::Owner::kHardware:
      return FaultOwner::kHardware;
    case HealthCause::Owner::kDriver:
      return FaultOwner::kDriver;
    case HealthCause::Owner::kApplication:
      return FaultOwner::kApplication;
    case HealthCause::Owner::kPlatform:
      return FaultOwner::kPlatform;
  }
  GALEN_UNREACHABLE();
}

Cause CauseOf(const HealthCause& cause) {
  return {.code = Shown(cause.code, kCauseTextBytesMax),
          .message = Shown(cause.message, kWireMessageBytesMax),
          .value = Shown(cause.value, kCauseTextBytesMax),
          .threshold = Shown(cause.threshold, kCauseTextBytesMax),
          .unit = Shown(cause.unit, kCauseTextBytesMax),
          .owner = FaultOwnerOf(cause.owner)};
}

double ShareOf(const HealthRound::Report& report) {
  if (report.state != HealthState::kDegraded) return 1;
  // A share that is not finite comes from a division by zero, and counts as everything lost.
  return std::isfinite(report.share) ? std::clamp(report.share, 0.0, 1.0) : 0;
}

// The protocol carries whole seconds; zero would mean the reader's default.
Duration WholeSeconds(Duration timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  return std::clamp<Duration>(seconds, std::chrono::seconds(1), kTimeoutMax);
}

DeviceFinding NotReported(const DeviceIdentity& identity) {
  DeviceFinding finding;
  finding.health.cause = {.code = std::string(cause_code::kNotReported),
                          .message = "the driver did not report this device",
                          .value = {},
                          .threshold = {},
                          .unit = {}};
  finding.identity = identity;
  return finding;
}

DeviceFinding FindingOf(const DeviceIdentity& identity, const HealthRound::Report* report) {
  if (report == nullptr) return NotReported(identity);
  DeviceFinding finding;
  finding.health.state = report->state;
  finding.health.share = ShareOf(*report);
  finding.health.cause = CauseOf(report->cause);
  finding.identity = identity;
  finding.sign = Shown(report->cause.sign, kSignBytesMax);
  return finding;
}

v1::HealthStatus StatusOnWire(HealthState state, const SnapshotOptions& options) {
  switch (state) {
    case HealthState::kUnknown:
      return v1::UNKNOWN;
    case HealthState::kHealthy:
      return v1::HEALTHY;
    case HealthState::kUnhealthy:
      return v1::UNHEALTHY;
    case HealthState::kDegraded:
      return options.degraded_as_unhealthy ? v1::UNHEALTHY : v1::HEALTHY;
  }
  GALEN_UNREACHABLE();
}

void EncodeFinding(const DeviceFinding& finding, bool roomy, v1::Finding& out) {
  const Cause& cause = finding.health.cause;
  out.set_sign_unix_nanos(finding.health.since.time_since_epoch().count());
  // The state on the wire has no Degraded; this lets our agent see which of Healthy and Unhealthy
  // was meant.
  out.set_degraded(finding.health.state == HealthState::kDegraded);
  if (out.degraded()) out.set_share(finding.health.share);
  out.set_code(cause.code);
  out.set_value(cause.value);
  out.set_threshold(cause.threshold);
  out.set_unit(cause.unit);
  out.set_owner(std::string(ToString(cause.owner)));
  out.set_serial(finding.identity.serial);
  out.set_model(finding.identity.model);
  // Without room the raw sign is left out first: it is only additional information.
  if (roomy) out.set_sign(finding.sign);
}

}  // namespace

// From the published slice, so that the agent finds the same identity in both places.
std::vector<DeviceIdentity> IdentitiesOf(const std::string& driver, const std::string& pool,
                                         const Inventory& inventory) {
  std::vector<DeviceIdentity> identities;
  kube::ResourceSlice slice;
  slice.driver = driver;
  slice.pool = pool;
  for (const Device& device : inventory) {
    identities.push_back(kube::IdentityOf(slice, ToSliceDevice(device)));
  }
  return identities;
}

HardwareIdsByName HardwareIdsOf(const Inventory& inventory) {
  HardwareIdsByName ids;
  for (const Device& device : inventory) {
    ids[device.name] = kube::HardwareIdsOf(ToSliceDevice(device));
  }
  return ids;
}

HealthSnapshot Judge(const std::vector<DeviceIdentity>& devices, const HealthRound& round,
                     const HealthSnapshot& before, const SnapshotOptions& options, WallTime now) {
  HealthSnapshot snapshot;
  for (const DeviceIdentity& identity : devices) {
    const HealthRound::Report* report = round.Find(identity.id.device);
    DeviceFinding finding = FindingOf(identity, report);
    finding.health.id = identity.id;
    finding.health.timeout =
        WholeSeconds(round.TimeoutOf(identity.id.device).value_or(options.timeout));
    const WallTime seen = report != nullptr && report->cause.seen
                              ? std::min<WallTime>(*report->cause.seen, now)
                              : now;
    const auto known = before.find(identity.id.device);
    const bool same = known != before.end() && SameFinding(known->second.health, finding.health);
    finding.health.since = same ? known->second.health.since : seen;
    // Each reading has its own sign; the sign that began the finding is kept.
    if (same) finding.sign = known->second.sign;
    snapshot.emplace(identity.id.device, std::move(finding));
  }
  return snapshot;
}

bool SaysTheSame(const HealthSnapshot& a, const HealthSnapshot& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.identity == y.second.identity &&
           x.second.health.timeout == y.second.health.timeout &&
           SameFinding(x.second.health, y.second.health);
  });
}

Duration ShortestTimeout(const HealthSnapshot& snapshot, const SnapshotOptions& options) {
  Duration shortest = std::min<Duration>(WholeSeconds(options.timeout), kOldKubeletTimeout);
  for (const auto& [name, finding] : snapshot) {
    shortest = std::min(shortest, finding.health.timeout.value_or(shortest));
  }
  return shortest;
}

std::string Encode(const HealthSnapshot& snapshot, const SnapshotOptions& options, WallTime now,
                   const HardwareIdsByName& ids) {
  const bool roomy = snapshot.size() <= kRoomyDevicesMax;
  v1::NodeWatchResourcesResponse response;
  for (const auto& [name, finding] : snapshot) {
    const DeviceHealth& health = finding.health;
    v1::DeviceHealth& out = *response.add_devices();
    out.mutable_device()->set_pool_name(health.id.pool);
    out.mutable_device()->set_device_name(health.id.device);
    out.set_health(StatusOnWire(health.state, options));
    out.set_last_updated_time(
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
    out.set_health_check_timeout_seconds(
        std::chrono::duration_cast<std::chrono::seconds>(*health.timeout).count());
    out.set_message(
        CutText(health.cause.message, roomy ? kWireMessageBytesMax : kTightMessageBytesMax));
    EncodeFinding(finding, roomy, *out.mutable_galen());
    if (const auto known = ids.find(name); known != ids.end()) {
      out.mutable_galen()->set_uuid(known->second.uuid);
      out.mutable_galen()->set_pci_address(known->second.pci_address);
    }
  }
  return response.SerializeAsString();
}

}  // namespace galen::sdk
