// Devices of device plugins, named as DeviceId: the extended resource ("nvidia.com/gpu") is the
// driver, the node the pool, and the plugin's own id of it the device. Pure functions.
#pragma once

#include <string_view>

#include "base/status.h"
#include "model/device.h"

namespace galen {

// Whether `driver` names an extended resource, which has a "/", and not a DRA driver, which has
// none.
bool IsPluginResource(std::string_view driver);
// Whether `text` is the name of an extended resource: a DNS subdomain, "/", and letters, digits,
// "-", "_" and "." between two letters or digits; at most 63 characters in all, although Kubernetes
// takes more: none that we know of is longer, and everything that shows devices has this bound.
// Not below kubernetes.io, whose resources are Kubernetes' own, nor "requests.", which quota adds.
bool IsResourceName(std::string_view text);

// As Validate, which asks this of devices whose driver IsPluginResource: a resource as
// IsResourceName has it, and a device of 1 to 63 printable characters of ASCII without spaces, such
// as "GPU-8f5c::3" or "0000:4b:00.0". The pool is not checked here.
Status ValidatePluginDevice(const DeviceId& id);

}  // namespace galen
