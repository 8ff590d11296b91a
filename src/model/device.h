// Which device: the name Kubernetes knows it by, and what stays when that name changes.
#pragma once

#include <compare>
#include <string>

#include "base/status.h"

namespace galen {

// A device as DRA names it. `pool` is usually the node's name; `device` is unique in its pool.
struct DeviceId {
  std::string driver;
  std::string pool;
  std::string device;

  auto operator<=>(const DeviceId&) const = default;
};

// "driver/pool/device".
std::string ToString(const DeviceId& id);

// OK when all three parts are names that Kubernetes would take: a driver of at most 63 characters
// (DNS subdomain), a pool of DNS subdomains joined by "/" (253), a device that is a DNS label.
Status Validate(const DeviceId& id);

// What tells one piece of hardware from another, whatever slot or name it has today.
struct DeviceIdentity {
  DeviceId id;
  std::string serial;  // "" when the driver does not tell
  std::string model;   // "H200"; "" when the driver does not tell

  auto operator<=>(const DeviceIdentity&) const = default;
};

}  // namespace galen
