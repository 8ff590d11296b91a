// `galen rules record`: what devices of this machine show, kept for `galen rules test --replay`.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace galen::cli {

// What the command line says.
struct RecordArguments {
  std::string directory;              // where the recording is made
  std::vector<std::string> patterns;  // which directories below sysfs are devices
  std::string sysfs_root = "/sys";
  std::string kernel_log;  // "/dev/kmsg"; "" = not read
  std::string nvml;        // NVIDIA's library; "" = not asked
  Duration length = std::chrono::minutes(1);
  Duration every = std::chrono::seconds(2);
  bool hash_serials = false;
};

// Records for as long as it says, or until it is interrupted; what was recorded until then is
// whole. Gives what to print: how many steps there are, and how to play them. InvalidArgument: the
// command line; NotFound: no such table, or no device; else why nothing can be read or written any
// more.
StatusOr<std::string> RecordRules(const std::string& table, const RecordArguments& arguments);

}  // namespace galen::cli
