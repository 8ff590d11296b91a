// The identity of a device: the name Kubernetes knows it by, and what stays when that name changes.
// Values; no owner, no thread.
#pragma once

#include <compare>
#include <cstddef>
#include <string>

#include "base/status.h"

namespace galen {

// A device as DRA names it: unique in the cluster only with all three parts. `pool` is usually the
// node's name; `device` is unique in its pool, the name of a slot: after a repair another piece of
// hardware may bear it, which DeviceIdentity shows. Devices of device plugins: plugin_resource.h.
struct DeviceId {
  std::string driver;
  std::string pool;
  std::string device;

  auto operator<=>(const DeviceId&) const = default;
};

// "driver/pool/device", as Kubernetes writes a resourceID without a CDI id. Not to be taken apart
// again: a pool may hold "/".
std::string ToString(const DeviceId& id);

// OK when all parts are names that Kubernetes would take: a driver of at most 63 characters (DNS
// subdomain), a pool of DNS subdomains joined by "/" (253 in all), a device that is a DNS label
// (63); or, for a device plugin, as plugin_resource.h has it. InvalidArgument names the first part
// that is not valid; its message is short and printable, because these names come from drivers.
Status Validate(const DeviceId& id);

// Devices of a node, and so of one driver and of one report: one message of 4 MiB holds as many
// with a kilobyte each, and a metric has as many series.
inline constexpr std::size_t kNodeDevicesMax = 4096;

// The identity of a piece of hardware, whatever slot or name it has today. Serial and model are as
// the driver says, from attributes of its ResourceSlice or from its health report; nobody verifies
// them.
struct DeviceIdentity {
  DeviceId id;
  std::string serial;  // "" when not reported
  std::string model;   // "H200"; "" when not reported

  auto operator<=>(const DeviceIdentity&) const = default;
};

}  // namespace galen
