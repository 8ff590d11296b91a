// The machine itself: control groups, limits of the kernel, clock and disks. Asks the kernel,
// changes nothing. Calls block shortly.
#pragma once

#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "doctor/observations.h"

namespace galen::doctor {

// Where the kernel shows itself.
struct KernelPlaces {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
};

// A hierarchy of version 2 has cgroup.controllers at its top; else the directories of version 1.
StatusOr<CgroupSeen> LookAtCgroups(FileSystem& files, const KernelPlaces& places);
// Makes an instance with one watch, and takes both away again.
StatusOr<InotifySeen> LookAtInotify(FileSystem& files, const KernelPlaces& places);
StatusOr<FileTableSeen> LookAtFileTable(FileSystem& files, const KernelPlaces& places);
// adjtimex(2), which anybody may read.
StatusOr<TimeSyncSeen> LookAtTimeSync();
// The file system that `path` lies in. `of` is whose it is. As root it is also asked whether files
// can be made there; as another user only whether it is mounted read-only, because those who write
// there are root.
DiskSeen LookAtDisk(const std::string& path, const std::string& of);

}  // namespace galen::doctor
