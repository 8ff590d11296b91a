// Files with results of active checks (docs/formats/check-result.md), read with the distrust that
// belongs to what makes a device Unhealthy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/status.h"

namespace galen::probes {

// What tells a file from another under its name: replaced, or written to.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t changed = 0;  // ctime in nanoseconds, which nobody sets at will
  std::uint64_t bytes = 0;

  bool operator==(const FileStamp&) const = default;
};

// Where they come from; the real one is the disk.
class ResultFiles {
 public:
  virtual ~ResultFiles() = default;
  // The files of a directory, by name; empty where there is no directory. Short: asked at each
  // look. Errors are those of the disk and of too many open files.
  virtual StatusOr<std::map<std::string, FileStamp>> List(const std::string& directory) = 0;
  // The text of a file that nobody but root and this process's user can have written.
  // PermissionDenied says what speaks against it: its owner, its mode, or that it is no plain file.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
};

// The real ones.
class DiskResultFiles final : public ResultFiles {
 public:
  StatusOr<std::map<std::string, FileStamp>> List(const std::string& directory) override;
  StatusOr<std::string> Read(const std::string& path) override;
};

}  // namespace galen::probes
