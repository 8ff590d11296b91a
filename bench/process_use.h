// What a process has used so far, from /proc. Values; free of threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace galen::bench {

// Counted by the kernel since the process began, unless it says "now".
struct ProcessUse {
  std::uint64_t ticks = 0;       // of CPU time, user and system; 10 ms each on Linux
  Duration cpu{};                // the same to the nanosecond, not in the texts of /proc
  std::uint64_t rss_bytes = 0;   // resident now
  std::uint64_t peak_bytes = 0;  // the most that was resident
  std::uint64_t disk_bytes = 0;  // that it caused to be written to storage
};

// An error when the process is gone or another user's.
StatusOr<ProcessUse> ReadProcessUse(pid_t pid);

// Descriptors that the process has open now.
StatusOr<std::size_t> CountDescriptors(pid_t pid);

// From the texts of /proc/PID/stat, …/status and …/io (proc(5)); an error names what is missing.
StatusOr<ProcessUse> ParseProcessUse(std::string_view stat, std::string_view status,
                                     std::string_view io);

// Makes the present process's peak what it uses now (/proc/self/clear_refs). Unavailable where the
// kernel does not let it.
Status ResetOwnPeak();

}  // namespace galen::bench
