// The present health of all devices of a driver, made from a round and the snapshot before, and its
// encoding. Pure: state comes in and goes out as values, the time is an argument.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "galen/driver.h"
#include "model/hardware_ids.h"
#include "model/health.h"

namespace galen::sdk {

// What the driver's author reports of the devices in one round: HealthWriter for the author, read
// by the Judge. A value; made for one call of `report` and read right after it. Accepts any name;
// the reader decides which names are devices.
class HealthRound final : public HealthWriter {
 public:
  // The latest report on one device. `share` is as the author gave it, unchecked.
  struct Report {
    HealthState state = HealthState::kUnknown;
    double share = 1;
    HealthCause cause;
  };

  using HealthWriter::Healthy;
  void Healthy(std::string_view device, HealthCause note) override;
  void Unhealthy(std::string_view device, HealthCause cause) override;
  void Degraded(std::string_view device, double share, HealthCause cause) override;
  void Unknown(std::string_view device, HealthCause cause) override;
  void Timeout(std::string_view device, std::chrono::seconds timeout) override;

  // nullptr: nothing was reported.
  const Report* Find(std::string_view device) const;
  // nullopt: none was given. Not bounded yet.
  std::optional<Duration> TimeoutOf(std::string_view device) const;
  const std::map<std::string, Report, std::less<>>& reports() const { return reports_; }

 private:
  void Record(std::string_view device, Report report);

  std::map<std::string, Report, std::less<>> reports_;  // at most kDevicesMax
  std::map<std::string, Duration, std::less<>> timeouts_;
};

// Kubernetes cuts longer messages by bytes, perhaps inside a character (KEP-4680, since 1.36).
inline constexpr std::size_t kWireMessageBytesMax = 1024;
// grpc-go, and with it the kubelet, refuses a message that is larger, by default.
inline constexpr std::size_t kSnapshotBytesMax = 4 * 1024 * 1024;

// One device's finding, with its identity and the raw sign, "" when there is none.
struct DeviceFinding {
  DeviceHealth health;
  DeviceIdentity identity;
  std::string sign;
};
// By device name; every device of the inventory and no other.
using HealthSnapshot = std::map<std::string, DeviceFinding, std::less<>>;

// How states that Kubernetes does not know, and timeouts that were not given, are reported.
struct SnapshotOptions {
  Duration timeout = kHealthTimeoutDefault;  // for devices without a timeout in the round
  bool degraded_as_unhealthy = false;
};

// The devices of `inventory` in `pool`; serial and model are the attributes "serial" and "model",
// "" when there are none.
std::vector<DeviceIdentity> IdentitiesOf(const std::string& driver, const std::string& pool,
                                         const Inventory& inventory);

using HardwareIdsByName = std::map<std::string, HardwareIds, std::less<>>;
// The hardware identifiers of the inventory's devices: the attributes "uuid", "serial" and
// Kubernetes' standard "pciBusID".
HardwareIdsByName HardwareIdsOf(const Inventory& inventory);

// The finding of each of `devices`; reports on others are ignored. `since` stays while state, share
// and cause do; a new finding dates from the author's time, never later than `now`. Texts are made
// valid and bounded, timeouts whole seconds from 1 s to 24 h. A device without a report is Unknown
// (NotReported).
HealthSnapshot Judge(const std::vector<DeviceIdentity>& devices, const HealthRound& round,
                     const HealthSnapshot& before, const SnapshotOptions& options, WallTime now);

// Whether two snapshots are the same for a subscriber: findings, identities and timeouts. Times and
// raw signs do not count.
bool SaysTheSame(const HealthSnapshot& a, const HealthSnapshot& b);

// The shortest timeout of the devices and of the options, and no longer than the 30 s of a kubelet
// that knows no timeouts. Half of it is the longest that a driver may be silent.
Duration ShortestTimeout(const HealthSnapshot& snapshot, const SnapshotOptions& options);

// A NodeWatchResourcesResponse, with our Finding beside each device's health; its bytes are the
// same in v1 and v1alpha1. `now` becomes last_updated_time. Never more than kSnapshotBytesMax for
// up to kDevicesMax devices: with very many, texts get shorter.
// Devices in `ids` carry their hardware identifiers too.
std::string Encode(const HealthSnapshot& snapshot, const SnapshotOptions& options, WallTime now,
                   const HardwareIdsByName& ids = {});

}  // namespace galen::sdk
