// Which drivers to examine: the sockets of a registry directory, one socket, or a driver's name.
#pragma once

#include <string>
#include <vector>

#include "conformance/link.h"

namespace galen::conformance {

inline constexpr std::string_view kKubeletRoot = "/var/lib/kubelet";

// `what` is a directory, a socket's path, or the name of a driver in the registry of
// `kubelet_root` ("" = kKubeletRoot). In a directory, plugins that say they are of another type
// than DRAPlugin are left out. Each is asked GetInfo. NotFound, Unavailable: there is nobody to
// examine.
StatusOr<std::vector<RegistrationSeen>> FindTargets(const Edges& edges, const std::string& what,
                                                    const std::string& kubelet_root);

// Whether a kubelet uses the drivers of this registry directory: it is the kubelet's usual one, or
// a kubelet's own sockets lie beside it.
bool BelongsToKubelet(const std::string& registry);

}  // namespace galen::conformance
