// Which life of the node this is, as the kernel tells it: so that an agent that starts knows
// whether only it was away or the whole node. Reads two files of /proc and keeps nothing.
#pragma once

#include <optional>
#include <string>

#include "base/files/file_system.h"
#include "base/time.h"

namespace galen::agent {

struct NodeBoot {
  std::string id;                // another after each start of the kernel; "" = cannot be told
  std::optional<WallTime> time;  // when it was started, to the second

  bool operator==(const NodeBoot&) const = default;
};

inline constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";

// By kBootIdPath and the line btime of /proc/stat, which are the host's in a
// container, too (proc(5)). What cannot be read is left empty.
NodeBoot ReadNodeBoot(FileSystem& files);

}  // namespace galen::agent
