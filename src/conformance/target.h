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

// Who uses the drivers of this registry directory, as a clause ("…, since a kubelet's sockets lie
// beside it"); empty when nobody is seen to. It is the kubelet's usual one, a kubelet's own sockets
// lie beside it, or an agent of ours holds it by flock(2), as each does that runs.
std::string UserOf(const std::string& registry);

}  // namespace galen::conformance
