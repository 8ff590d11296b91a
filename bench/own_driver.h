// A driver that this program runs as a process of its own, by the public SDK: it makes many changes
// at a pace or as fast as its subscribers and its loop let it, and its reports hold as briefly as
// is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace galen::bench {

inline constexpr const char* kOwnDriverName = "bench.example.com";
// What this program is called with, first, to be that driver.
inline constexpr const char* kOwnDriverMode = "as-driver";

// The driver's settings. The first four are galen-driver's; a Rig fills them in.
struct OwnDriver {
  std::string node = {}, kubeconfig = {}, kubelet_root = {}, cdi_root = {};
  std::int64_t devices = 1;
  std::int64_t timeout_seconds = 30;  // how long its reports hold
  // It makes this many changes, by the burst's plan, once `start_file` is there, and then writes
  // how many nanoseconds that took into `result_file`.
  std::int64_t changes = 0;
  std::int64_t changes_per_second = 0;  // 0: as fast as it goes
  std::string start_file = {}, result_file = {};
};

// The command line; `program` is this program's own path.
std::vector<std::string> CommandOf(const OwnDriver& driver, const std::string& program);

// The process's main; `argv` as CommandOf made it, without the mode. Runs until a signal; the exit
// code is the SDK's.
int RunOwnDriver(int argc, char** argv);

}  // namespace galen::bench
