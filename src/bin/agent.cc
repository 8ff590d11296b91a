// galen-agent: carries the health of a node's devices to the Pods that hold them.
#include "base/version.h"
#include "bin/agent_program.h"

int main(int argc, char** argv) {
  galen::Flags flags("galen-agent", "Carries the health of a node's devices to their Pods",
                     std::string(galen::kVersion));
  galen::agent::AgentFlags values;
  galen::agent::AddFlags(flags, values);
  if (const auto code = flags.Parse(argc, argv)) return *code;
  return galen::agent_program::RunAgent(values);
}
