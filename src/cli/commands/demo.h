// `galen demo`: real processes on this machine, a fault, and the Pod that says so. Ends by itself
// in about a minute and leaves nothing behind; a demo that did not succeed leaves its directory,
// for the logs. Works without a cluster and without root.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/output/output.h"

namespace galen::cli {

// What its flags say.
struct DemoArguments {
  bool batch = false;         // plain lines; exit code 0 only if every step was seen
  bool keep = false;          // leave it running at the end, until a signal
  bool kernel_log = false;    // the fault as a real line in /dev/kmsg
  std::string bin_directory;  // where the other programs are
  // Its own directory is made in here; the path must be short, for unix sockets lie below it.
  std::string directory = "/tmp";
};

// Blocks until the demo is over. The exit code: 0 when each step was seen on the Pod through the
// API, 130 when it was interrupted. An error names the step that was not seen and where the logs
// are, or the program that died and its log. `output` that nobody reads any more ends it, too.
StatusOr<int> Demo(const Options& options, const DemoArguments& arguments, Output& output);

}  // namespace galen::cli
