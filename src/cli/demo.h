// `galen demo`: real processes on this machine, a fault, and the Pod that says so. Ends by itself
// in about a minute and leaves nothing behind.
#pragma once

#include <string>

#include "cli/options.h"

namespace galen::cli {

struct DemoArguments {
  bool batch = false;         // plain lines; exit code 0 only if every step was seen
  bool keep = false;          // leave it running at the end, until a signal
  bool kernel_log = false;    // the fault as a real line in /dev/kmsg
  std::string bin_directory;  // where the other programs are
  std::string directory = "/tmp";
};

// The exit code: 0 when each step was seen on the Pod through the API.
StatusOr<int> Demo(const Options& options, const DemoArguments& arguments);

}  // namespace galen::cli
