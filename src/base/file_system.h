// The files we keep state in, behind one seam: the real disk, one in memory, and one that tears,
// fills up and forgets what was not synced. Calls block; they are short.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen {

// A file that only grows.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  // After an error the file's end is unknown: the caller starts a new file.
  virtual Status Append(std::string_view bytes) = 0;
  // Returns when everything appended survives a power cut.
  virtual Status Sync() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual StatusOr<std::string> Read(const std::string& path) = 0;
  // Opens for appending, creating the file with mode 0600 when it is missing.
  virtual StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) = 0;
  // Replaces `path` as a whole: temporary file, sync, rename, sync of the directory.
  virtual Status WriteAtomically(const std::string& path, std::string_view bytes,
                                 unsigned mode = 0600) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // OK when there is no such file.
  virtual Status Remove(const std::string& path) = 0;
  virtual Status MakeDirectories(const std::string& path, unsigned mode = 0755) = 0;
  // Names only, in order; without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
};

}  // namespace galen
