// `galen dev-node`: a node on this machine for people who write drivers. An embedded Kubernetes
// API and an agent that stands in a kubelet's place and runs Pods as processes; it prints where a
// driver registers and how kubectl reaches it, and stays until Ctrl-C, which leaves nothing.
#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"
#include "cli/output/output.h"

namespace galen::cli {

// What its flags say.
struct DevNodeArguments {
  // Where everything lies: absent or empty before, gone afterwards. "": one of its own in /tmp.
  std::string directory;
  std::string node = "dev-node";
  std::int64_t simulated_gpus = 0;  // of a driver that is started with it; 0: none
  bool as_root = false;             // Pods run as root of this machine
  std::string bin_directory;        // where the other programs are
};

// Blocks until Ctrl-C or SIGTERM (0), or until a program ends by itself (an error with its log; the
// directory stays). InvalidArgument: root without as_root, or a number of GPUs that the driver does
// not take; AlreadyExists: a directory that is not empty. `output` that nobody reads any more ends
// it, too.
StatusOr<int> DevNode(const Options& options, const DevNodeArguments& arguments, Output& output);

// What is printed when it stands. Pure; `pids` of API and agent.
struct DevNodePids {
  int api = 0, agent = 0;
};
std::string DevNodeText(const std::string& directory, const DevNodeArguments& arguments,
                        DevNodePids pids);

}  // namespace galen::cli
