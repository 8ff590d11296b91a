#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "base/fd.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

StatusOr<std::int64_t> ReadNumber(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  std::istringstream words(text);
  std::int64_t value = 0;
  if (!(words >> value)) return DataLoss("{} holds no number", path);
  return value;
}

// The error's name shows which limit was reached: inotify(7).
Status TryInotify() {
  const Fd instance(::inotify_init1(IN_CLOEXEC));
  if (!instance) return ErrnoStatus(errno, "inotify_init");
  if (::inotify_add_watch(instance.get(), "/", IN_CREATE) < 0) {
    return ErrnoStatus(errno, "inotify_add_watch");
  }
  return OkStatus();
}

Status TryWriting(const std::string& path, unsigned long flags) {
  if ((flags & ST_RDONLY) != 0) return FailedPrecondition("it is mounted read-only");
  if (::geteuid() == 0 && ::access(path.c_str(), W_OK | X_OK) != 0) {
    return ErrnoStatus(errno, "write to it");
  }
  return OkStatus();
}

}  // namespace

StatusOr<CgroupSeen> LookAtCgroups(FileSystem& files, const KernelPlaces& places) {
  CgroupSeen seen;
  const StatusOr<std::string> unified = files.Read(places.cgroups + "/cgroup.controllers");
  if (unified.ok()) {
    seen.unified = true;
    std::istringstream words(*unified);
    for (std::string word; words >> word;) seen.controllers.insert(word);
    return seen;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(places.cgroups));
  // In version 1 each controller is a directory; "cpu,cpuacct" has links for its parts.
  for (const std::string& name : names) {
    if (name.find(',') == std::string::npos && name != "unified") seen.controllers.insert(name);
  }
  if (seen.controllers.empty()) return NotFound("no control groups in {}", places.cgroups);
  return seen;
}

StatusOr<InotifySeen> LookAtInotify(FileSystem& files, const KernelPlaces& places) {
  const std::string limits = places.proc + "/sys/fs/inotify/";
  InotifySeen seen;
  ASSIGN_OR_RETURN(seen.instances_max, ReadNumber(files, limits + "max_user_instances"));
  ASSIGN_OR_RETURN(seen.watches_max, ReadNumber(files, limits + "max_user_watches"));
  seen.tried = TryInotify();
  return seen;
}

StatusOr<FileTableSeen> LookAtFileTable(FileSystem& files, const KernelPlaces& places) {
  const std::string path = places.proc + "/sys/fs/file-nr";
  ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  std::istringstream words(text);
  FileTableSeen seen;
  std::int64_t unused = 0;  // allocated and not used: always 0 since Linux 2.6
  if (!(words >> seen.used >> unused >> seen.max))
    return DataLoss("{} holds no three numbers, as the kernel writes there", path);
  return seen;
}

StatusOr<TimeSyncSeen> LookAtTimeSync() {
  timex clock{};  // modes 0: reads only
  if (::adjtimex(&clock) < 0) return ErrnoStatus(errno, "adjtimex");
  return TimeSyncSeen{.synchronised = (clock.status & STA_UNSYNC) == 0,
                      .error_max = std::chrono::microseconds(clock.maxerror)};
}

DiskSeen LookAtDisk(const std::string& path, const std::string& of) {
  DiskSeen seen{.path = path, .of = of};
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) {
    seen.looked = ErrnoStatus(errno, "statvfs " + path);
    return seen;
  }
  seen.free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  seen.bytes = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  seen.free_inodes = disk.f_favail;
  seen.inodes = disk.f_files;
  seen.writable = TryWriting(path, disk.f_flag);
  return seen;
}

}  // namespace galen::doctor
