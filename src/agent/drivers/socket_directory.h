// The directory in which plugins leave their registration sockets, behind a seam: the real one is
// PosixSocketDirectory, a fake one keeps names in memory. Belongs to the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace galen::agent {

// A name below the directory. A file that was removed and made again has another stamp.
struct DirectoryEntry {
  // kUnreadable: it exists, but its kind, or what lies below it, cannot be read. kForeign: a socket
  // of a user who is not trusted here.
  enum class Kind { kSocket, kDirectory, kSymlink, kOther, kUnreadable, kForeign };
  std::string path;
  Kind kind = Kind::kOther;
  // Opaque: only to be compared with an earlier one of the same path.
  std::uint64_t stamp = 0;
  unsigned owner = 0;  // the user whose file it is

  bool operator==(const DirectoryEntry&) const = default;
};

// Hints may be lost, come twice or come for nothing; Scan shows the truth.
class SocketDirectory {
 public:
  virtual ~SocketDirectory() = default;

  // Calls `on_change`, from the loop, whenever something below the directory may have changed, for
  // as long as this lives. An error: there will be no hints, only Scan.
  virtual Status Watch(std::function<void()> on_change) = 0;
  // Everything below the directory, recursively, symlinks not followed; in order of path. NotFound
  // when it does not exist. Another error means "could not look", never "nothing there".
  virtual StatusOr<std::vector<DirectoryEntry>> Scan() = 0;
  // `path` without symlinks, "." and ".."; an error when it does not exist.
  virtual StatusOr<std::string> RealPath(const std::string& path) = 0;
};

}  // namespace galen::agent
