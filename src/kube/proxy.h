// Which proxy the environment wants between us and a server, by the rules that other tools follow:
// HTTPS_PROXY or HTTP_PROXY, and NO_PROXY's exceptions. Pure functions.
#pragma once

#include <string>

#include "base/environment.h"
#include "kube/url.h"

namespace galen::kube {

// The proxy's URL, or "" for none. A server on this machine never has one.
std::string ProxyFor(const Url& server, const Environment& environment);

// Whether NO_PROXY (`exceptions`: names, domains, addresses, networks, each with or without a port,
// or "*") speaks of `server`.
bool IsExempt(const Url& server, std::string_view exceptions);

}  // namespace galen::kube
