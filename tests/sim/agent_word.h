// What an agent says of its devices when somebody asks on its socket.
#pragma once

#include <map>

#include "model/health.h"
#include "net/http.h"

namespace galen::sim {

// How each device is that it knows: state, since when, share and code. REQUIRES: `inspect` is an
// agent's (AgentApp::inspect), which answers before it returns.
std::map<DeviceId, DeviceHealth> AskDevices(net::HttpHandler& inspect);

}  // namespace galen::sim
