// `galen doctor`: looks at this node (sockets, kubelet, API server, agent, machine) and says what
// is wrong with it, what that means and what to do. The checks are those of room doctor.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace galen::cli {

struct DoctorArguments {
  std::string node;          // "" = $NODE_NAME, else the agent's answer, else the host's name
  std::string kubelet_root;  // "" = that of the agent's drivers, else /var/lib/kubelet
  std::string registry;      // "" = below kubelet_root
  std::string state_dir = "/var/lib/galen";
  // A directory that is given replaces these.
  std::vector<std::string> cdi_roots;  // {} = /etc/cdi and /var/run/cdi
  std::string agent_account;           // "NAMESPACE/NAME"; "" = that of the agent's Pod
  std::string output;                  // table, wide, json or junit; "" = what Options says
};

struct DoctorResult {
  int code = 0;         // 0 (nothing bad), 1 (something bad), 64, 69 (no node) or 130
  std::string text;     // for standard output
  std::string problem;  // for standard error, when there is no result
};

// Works with what it may look at: without root, without a cluster. Changes nothing. Blocks, for
// some seconds at most where sockets hang, and half a minute where the API server does.
DoctorResult Doctor(const Options& options, const DoctorArguments& arguments);

}  // namespace galen::cli
