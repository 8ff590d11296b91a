// galen-agent's process: the real edges around the agent, in the order in which they need each
// other.
#pragma once

#include "agent/app/config.h"

namespace galen::agent_program {

// Runs until a signal; blocks the calling thread, which is the loop's. 0 after a proper stop,
// kExitUsage for a faulty configuration (nothing was started), 1 when another agent holds the node
// or something else could not be had. Errors go to standard error in one line.
int RunAgent(const agent::AgentFlags& flags);

}  // namespace galen::agent_program
