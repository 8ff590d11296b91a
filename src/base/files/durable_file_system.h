// What FileSystem promises, built from a Disk's verbs: the order of writes, syncs and renames that
// survives a power cut at every point. The same code runs on the kernel's disk (PosixFileSystem)
// and on one that loses all it may (FakeDisk).
#pragma once

#include "base/files/disk.h"
#include "base/files/file_system.h"

namespace galen {

class DurableFileSystem final : public FileSystem {
 public:
  // The disk is lent and outlives this; files that were opened need neither afterwards.
  explicit DurableFileSystem(Disk& disk) : disk_(disk) {}

  StatusOr<std::string> Read(const std::string& path) override { return disk_.Read(path); }
  StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status WriteAtomically(const std::string& path, std::string_view bytes, unsigned mode) override;
  // `from` equal to `to` changes nothing and makes the name survive a power cut.
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  // Each new name survives a power cut when this returns OK.
  Status MakeDirectories(const std::string& path, unsigned mode) override;
  StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) override {
    return disk_.TryLock(path);
  }
  StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    return disk_.List(directory);
  }

 private:
  // The name of a directory that was there survives a power cut from now on; "" is none.
  Status SettleName(const std::string& found);
  Status MakeDirectory(const std::string& path, unsigned mode);

  Disk& disk_;
};

}  // namespace galen
