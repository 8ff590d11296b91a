// Identifies the boot of the machine's kernel, so that a program knows after a restart whether only
// itself was away or the whole machine. Reads two files of /proc, which are the host's in a
// container too (proc(5)), and keeps nothing. May be used from any thread that may use `files`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files/file_system.h"
#include "base/time.h"

namespace galen {

inline constexpr std::string_view kBootIdPath = "/proc/sys/kernel/random/boot_id";

// The kernel's name of this boot, without a newline: the same until the machine starts again, then
// another (random(4)). Never empty: DataLoss if the file is, the file system's error if it cannot
// be read, as where a sandbox hides it.
StatusOr<std::string> ReadBootId(FileSystem& files);

// When the kernel was started, to the second: the line btime of /proc/stat. nullopt when it cannot
// be read.
std::optional<WallTime> ReadBootTime(FileSystem& files);

}  // namespace galen
