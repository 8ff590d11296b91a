// The real disk: FileSystem by POSIX calls, each of which blocks until the kernel answers. Has no
// state of its own and may be used from any thread. Paths are the kernel's: relative ones start at
// the working directory, links are followed. Reads at most 512 MiB of a file, never waits on a
// pipe, and takes a pipe without a writer for an empty file.
#pragma once

#include "base/files/disk.h"
#include "base/files/file_system.h"

namespace galen {

class PosixFileSystem final : public FileSystem {
 public:
  StatusOr<std::string> Read(const std::string& path) override;
  StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status WriteAtomically(const std::string& path, std::string_view bytes, unsigned mode) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status MakeDirectories(const std::string& path, unsigned mode) override;
  StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) override;
};

// The kernel's disk: each verb is one system call, or the few that it needs. Has no state of its
// own; files that it opened outlive it. Reads at most 512 MiB of a file, never waits on a pipe, and
// takes a pipe without a writer for an empty file.
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

// What FileSystem promises, built from a Disk's verbs: the order of writes, syncs and renames that
// survives a power cut at every point. The same code runs on the kernel's disk (PosixFileSystem)
// and on one that loses all it may (FakeDisk).
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
  // Makes the name of an existing directory survive a power cut; nothing for "".
  Status SettleName(const std::string& found);
  Status MakeDirectory(const std::string& path, unsigned mode);

  Disk& disk_;
};

}  // namespace galen
