// The kernel's own verbs on files, one call each: what the promises of a FileSystem are built from
// (DurableFileSystem). The real one is PosixDisk; FakeDisk loses, tears and reorders what was
// not synced. Calls block. Safe from one thread at a time. Errors carry the path and a code by
// errno.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"
#include "base/status.h"

namespace galen {

// An open file that is written at its end; closed when it dies.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  // Takes the first of `bytes` and answers how many, as write(2) does: at least one, perhaps not
  // all of them. REQUIRES: not empty.
  virtual StatusOr<std::size_t> Write(std::string_view bytes) = 0;
  // Removes the last `bytes` bytes, which were written and not synced (ftruncate(2)).
  virtual Status TakeBack(std::size_t bytes) = 0;
  // Bytes and length are on the disk when this answers OK (fdatasync). After an error the kernel
  // may have forgotten what it could not write: a second call that answers OK proves nothing.
  virtual Status Sync() = 0;
};

// Names and whole files. That a name was made, moved or removed is on the disk only once its
// directory was synced (fsync(2)).
class Disk {
 public:
  // A new file and the path it was given.
  struct Temporary {
    std::unique_ptr<DiskFile> file;
    std::string path;
  };

  virtual ~Disk() = default;

  // The whole file, as FileSystem::Read.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
  // Made with mode 0600 when it is missing.
  virtual StatusOr<std::unique_ptr<DiskFile>> OpenAppend(const std::string& path) = 0;
  // A file that was not there before, at `path` + ".tmp-" and something, of exactly this mode.
  virtual StatusOr<Temporary> CreateTemporary(const std::string& path, unsigned mode) = 0;
  // All names of the directory are on the disk as they are now when this answers OK.
  virtual Status SyncDirectory(const std::string& directory) = 0;
  // Atomic; replaces `to`.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Removes a file, not a directory. NotFound when there is none.
  virtual Status Remove(const std::string& path) = 0;
  // Makes one directory. AlreadyExists when anything has the name.
  virtual Status MakeDirectory(const std::string& path, unsigned mode) = 0;
  // OK when there is a directory of this name; InvalidArgument when it is something else.
  virtual Status CheckDirectory(const std::string& path) = 0;
  // As FileSystem::TryLock.
  virtual StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) = 0;
  // Names in order, without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
};

}  // namespace galen
