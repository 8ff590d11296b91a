// `galen completion SHELL`: a script that completes commands, their flags and values, and the names
// of Pods, devices, drivers and simulated signs.
#pragma once

#include <string>

#include "base/status.h"

namespace galen::cli {

// The script for "bash", "zsh" or "fish", to be sourced; InvalidArgument for any other shell. Names
// are asked of the cluster, and signs of the simulator, when the user presses Tab; without one
// nothing is offered.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace galen::cli
