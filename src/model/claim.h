// Who holds which device: claims, what was allocated to them, and the Pods they are reserved for.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "model/device.h"

namespace galen {

// A namespaced object's name.
struct ObjectKey {
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

std::string ToString(const ObjectKey& key);  // "ns/name"; "name" when ns is empty

// One Pod, not merely one of that name.
struct PodRef {
  ObjectKey key;
  std::string uid;

  auto operator<=>(const PodRef&) const = default;
};

// One result of status.allocation.devices.results.
struct AllocatedDevice {
  std::string request;  // "main", or "main/sub" for a prioritized list
  DeviceId device;
  std::string share_id;  // "" unless the device's capacity is shared out
  bool admin_access = false;

  auto operator<=>(const AllocatedDevice&) const = default;
};

// The part of a request before its "/sub": what containers and drivers name it by.
std::string_view BaseRequest(std::string_view request);

// A ResourceClaim as far as health is concerned.
struct Claim {
  ObjectKey key;
  std::string uid;
  std::vector<AllocatedDevice> devices;  // empty: not allocated
  std::vector<PodRef> reserved_for;      // Pods only

  bool operator==(const Claim&) const = default;
};

}  // namespace galen
