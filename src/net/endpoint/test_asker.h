// One question of HTTP/1.1 over a real connection, for tests of servers that know nothing else.
#pragma once

#include <optional>
#include <string>

#include "net/connection.h"
#include "net/http.h"
#include "net/test_loop_runner.h"

namespace galen::net {

// The whole answer, from its first line to the end of the connection; "" when none comes about, or
// when the server is not one that `tls` vouches for. nullopt: plain text. `address` as a Server
// gives it.
std::string AskOverHttp1(LoopRunner& runner, const std::string& address, const HttpRequest& request,
                         const std::optional<TlsOptions>& tls = std::nullopt);

}  // namespace galen::net
