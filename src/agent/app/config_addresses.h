// Where an agent is reached over HTTP, and by whom: which addresses of a configuration may be used
// with which of its files. Pure.
#pragma once

#include "agent/app/config.h"
#include "agent/app/config_faults.h"

namespace galen::agent {

// Notes what is wrong with metricsAddress, probesAddress and the files that go with them, each with
// what would be right.
void CheckAddresses(const AgentConfig& config, ConfigFaults& faults);

}  // namespace galen::agent
