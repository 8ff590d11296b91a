// How an agent answers when it is asked for its devices on its socket.
#pragma once

#include <map>

#include "model/health.h"
#include "net/http.h"

namespace galen::sim {

// Each device that it knows: state, since when, share and code. REQUIRES: `inspect` is an
// agent's (AgentApp::inspect), which answers before it returns.
std::map<DeviceId, DeviceHealth> AskDevices(net::HttpHandler& inspect);

}  // namespace galen::sim
