// How an agent answers when it is asked for its devices on its socket.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/claim.h"
#include "model/health.h"
#include "net/http.h"

namespace galen::sim {

// Each device that it knows: state, since when, share and code. REQUIRES: `inspect` is an
// agent's (AgentApp::inspect), which answers before it returns.
std::map<DeviceId, DeviceHealth> AskDevices(net::HttpHandler& inspect);

// A device in a post-mortem record of a Pod.
struct RecordedDevice {
  std::string uid;  // of the Pod
  int number = 0;   // of the record, from 1
  DeviceId device;
  bool fault = false;  // whether one of its findings is Unhealthy
};
// All of the records of Pods of this name. REQUIRES: as above.
std::vector<RecordedDevice> AskPostMortems(net::HttpHandler& inspect, const ObjectKey& pod);

}  // namespace galen::sim
