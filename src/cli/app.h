// The program `galen` (also as kubectl-galen): its commands and flags, and what their exit codes
// mean.
#pragma once

#include "base/environment.h"

namespace galen::cli {

// Parses and runs one command; a blocking call from main's thread. The exit code: 0 done, also a
// watch that a signal ended; 1 could not, standard error says why; 64 the command line is wrong;
// 130 a demo that was interrupted.
int RunGalen(int argc, char** argv, Environment environment);

}  // namespace galen::cli
