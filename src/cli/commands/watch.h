// `galen watch [KIND]` and `galen get -w`: the table stays and changes. On a terminal in place, in
// a pipe a line for each row that changed; with -o json an object a line. What is not live is said
// to be so: on the terminal below the table, in a pipe on standard error.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/output/output.h"

namespace galen::cli {

// Runs until a signal (130), until nobody takes the output (kExitReaderGone, or its error), or
// not at all: what `galen get` would refuse is refused here. `kind` may be "pod/trainer-0", too.
StatusOr<int> Watch(const Options& options, std::string kind, std::string name, Output& output);

}  // namespace galen::cli
