// The machine's architecture that the program is built for, as Kubernetes names it (the names of
// Go's GOARCH) in a Node's nodeInfo, an image's platform and a client's user agent.
#pragma once

#include <string_view>

namespace galen {

#if defined(__x86_64__)
inline constexpr std::string_view kArchitecture = "amd64";
#elif defined(__aarch64__)
inline constexpr std::string_view kArchitecture = "arm64";
#else
#error "say here how Kubernetes names this machine"
#endif

}  // namespace galen
