// The program `galen` (also as kubectl-galen): its commands and flags, and what their exit codes
// mean.
#pragma once

#include "base/environment.h"

namespace galen::cli {

// Parses and runs one command; a blocking call from main's thread. The exit code: 0 done; 1 failed,
// with the reason on standard error, including errors that a server or a driver found; 64 the
// command line or the kubeconfig is wrong; 130 a watch, a demo or a conformance run was ended by
// Ctrl-C or SIGTERM; 141 the output's reader is gone. For conformance: 1 a check failed; 69 there
// is no driver to check, or the given API server does not answer.
int RunGalen(int argc, char** argv, Environment environment);

}  // namespace galen::cli
