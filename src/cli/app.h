// The program `galen` (also as kubectl-galen): its commands and flags, and what their exit codes
// mean.
#pragma once

#include "base/environment.h"

namespace galen::cli {

// 0: done. 1: could not, standard error says why. 64: the command line is wrong. 130: interrupted.
int RunGalen(int argc, char** argv, Environment environment);

}  // namespace galen::cli
