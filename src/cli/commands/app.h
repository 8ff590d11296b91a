// The program `galen` (also as kubectl-galen): its commands and flags, and what their exit codes
// mean.
#pragma once

#include "base/environment.h"

namespace galen::cli {

// Parses and runs one command; a blocking call from main's thread. The exit code: 0 done; 1 could
// not, standard error says why; 64 the command line or the kubeconfig is wrong, while what a server
// or a driver finds wrong is 1; 130 a watch, a demo or a conformance run that Ctrl-C or SIGTERM
// ended; 141 nobody read the output any more. Of conformance: 1 a check failed; 69 there is no
// driver to check, or the API server that was named does not answer.
int RunGalen(int argc, char** argv, Environment environment);

}  // namespace galen::cli
