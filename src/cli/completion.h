// `galen completion SHELL`: a script that completes commands, kinds, flags and Pods' names.
#pragma once

#include <string>

#include "base/status.h"

namespace galen::cli {

// The script for "bash", "zsh" or "fish", to be sourced; InvalidArgument for any other shell. Names
// of Pods are asked of the cluster when the user presses Tab; without one nothing is offered.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace galen::cli
