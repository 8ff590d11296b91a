// The kernel's disk: each verb is one system call, or the few that it needs. Has no state of its
// own; files that it opened outlive it. Reads at most 512 MiB of a file, never waits on a pipe, and
// takes a pipe without a writer for an empty file.
#pragma once

#include "base/files/disk.h"

namespace galen {

class PosixDisk final : public Disk {
 public:
  StatusOr<std::string> Read(const std::string& path) override;
  StatusOr<std::unique_ptr<DiskFile>> OpenAppend(const std::string& path) override;
  StatusOr<Temporary> CreateTemporary(const std::string& path, unsigned mode) override;
  Status SyncDirectory(const std::string& directory) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status MakeDirectory(const std::string& path, unsigned mode) override;
  Status CheckDirectory(const std::string& path) override;
  StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) override;
};

}  // namespace galen
