// Which proxy the environment wants between us and a server, by the rules that other tools follow
// (Go's net/http and golang.org/x/net/http/httpproxy): HTTPS_PROXY and NO_PROXY's exceptions.
// Unlike there HTTP_PROXY is not followed, because an API server in plain text is reached directly.
// Pure functions; nothing is looked up.
#pragma once

#include <string>

#include "base/environment.h"
#include "kube/url.h"

namespace galen::kube {

// The proxy's URL, or "" for none; "http://" is put before a bare "host:port". Upper-case names of
// variables win over lower-case ones. A server on this machine, or one without TLS, never has one.
std::string ProxyFor(const Url& server, const Environment& environment);

// Whether NO_PROXY (`exceptions`: names, domains, addresses, networks, each with or without a port,
// or "*", with commas between, in any case) matches `server`. Entries that mean nothing are passed
// over.
bool IsExempt(const Url& server, std::string_view exceptions);

}  // namespace galen::kube
