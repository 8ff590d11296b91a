// The present health of all devices of a driver, made from a round and what was known before, and
// its form on the wire. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "galen/driver.h"
#include "model/health.h"
#include "sdk/health_round.h"

namespace galen::sdk {

// Kubernetes cuts longer messages by bytes.
inline constexpr std::size_t kWireMessageBytesMax = 1024;
// grpc-go refuses more by default.
inline constexpr std::size_t kSnapshotBytesMax = 4 * 1024 * 1024;

struct DeviceFinding {
  DeviceHealth health;
  DeviceIdentity identity;
  std::string sign;
};
// By device name; every device of the inventory and no other.
using HealthSnapshot = std::map<std::string, DeviceFinding, std::less<>>;

struct SnapshotOptions {
  Duration timeout = kHealthTimeoutDefault;  // of devices whose round says none
  bool degraded_as_unhealthy = false;
};

// The devices of `inventory` in `pool`, serial and model from their attributes.
std::vector<DeviceIdentity> IdentitiesOf(const std::string& driver, const std::string& pool,
                                         const Inventory& inventory);

// `since` stays what it was while state, share and cause do. Texts are made valid and bounded.
HealthSnapshot Judge(const std::vector<DeviceIdentity>& devices, const HealthRound& round,
                     const HealthSnapshot& before, const SnapshotOptions& options, WallTime now);

// Whether two snapshots say the same to whoever listens.
bool SaysTheSame(const HealthSnapshot& a, const HealthSnapshot& b);

Duration ShortestTimeout(const HealthSnapshot& snapshot, const SnapshotOptions& options);

// A NodeWatchResourcesResponse; its bytes are the same in v1 and v1alpha1. Never more than
// kSnapshotBytesMax: with very many devices, texts get shorter.
std::string Encode(const HealthSnapshot& snapshot, const SnapshotOptions& options, WallTime now);

}  // namespace galen::sdk
