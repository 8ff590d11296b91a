// `galen completion SHELL`: a script that completes commands, kinds, flags and Pods' names.
#pragma once

#include <string>

#include "base/status.h"

namespace galen::cli {

// For "bash", "zsh" or "fish"; InvalidArgument for any other shell.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace galen::cli
