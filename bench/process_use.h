// What a process has used so far, as Linux tells in /proc. Values; free of threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::bench {

struct ProcessUse {
  std::uint64_t ticks = 0;       // of CPU time, user and system; 10 ms each on Linux
  std::uint64_t rss_bytes = 0;   // resident now
  std::uint64_t peak_bytes = 0;  // the most that was resident
  std::uint64_t disk_bytes = 0;  // that it caused to be written to storage
};

// Fails when the process is gone.
StatusOr<ProcessUse> ReadProcessUse(pid_t pid);

// From the texts of /proc/PID/stat, …/status and …/io.
StatusOr<ProcessUse> ParseProcessUse(std::string_view stat, std::string_view status,
                                     std::string_view io);

// Makes the present process's peak what it uses now.
Status ResetOwnPeak();

}  // namespace galen::bench
