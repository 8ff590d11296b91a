// The real disk: FileSystem by POSIX calls, each of which blocks until the kernel answers. Has no
// state of its own and may be used from any thread. Paths are the kernel's: relative ones start at
// the working directory, links are followed. Reads at most 512 MiB of a file, never waits on a
// pipe, and takes a pipe without a writer for an empty file.
#pragma once

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

}  // namespace galen
