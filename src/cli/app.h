// The program `galen` (also as kubectl-galen): its commands and flags, and what their exit codes
// mean.
#pragma once

#include "base/environment.h"

namespace galen::cli {

// Parses and runs one command; a blocking call from main's thread. The exit code: 0 done; 1 could
// not, standard error says why; 64 the command line or the kubeconfig is wrong, while what a server
// or a driver finds wrong is 1; 130 a watch or a demo that Ctrl-C or SIGTERM ended; 141 nobody read
// the output any more.
int RunGalen(int argc, char** argv, Environment environment);

}  // namespace galen::cli
