// The files we keep state in, behind one seam: the real disk (PosixFileSystem) and one in memory
// that tears, fills up and forgets what was not synced (FakeFileSystem). Calls block; they are
// short. Safe from one thread at a time. Errors carry the path and a code by errno: NotFound,
// PermissionDenied, ResourceExhausted for a full disk, InvalidArgument for a directory where a file
// is wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen {

// A file that only grows; closed when it dies. Follows the file, not the name: after a rename it
// goes on writing to the same file.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  // Adds `bytes` at the end of the file, after those of other handles. They are on the disk only
  // after Sync. After an error none of them is in the file, unless the disk refuses to take back a
  // part: the caller starts a new file.
  virtual Status Append(std::string_view bytes) = 0;
  // Returns when everything appended survives a power cut. After an error what was appended since
  // the last good Sync may be lost, and a second Sync that succeeds does not bring it back.
  virtual Status Sync() = 0;
};

// A lock that is held; destroying it, or the end of its process, lets go.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// The verbs that the journal, checkpoints and configuration need, and no more.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The whole file. NotFound when there is none; ResourceExhausted when it is larger than any file
  // of ours (512 MiB on the real disk), so that an endless device cannot fill the memory.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
  // Opens for appending, creating the file with mode 0600 when it is missing; the new name survives
  // a power cut. NotFound when its directory is missing.
  virtual StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) = 0;
  // Replaces `path` as a whole: temporary file, sync, rename, sync of the directory. A reader and a
  // crash see the old bytes or the new ones, never a mixture. After an error the old file is there,
  // unless only the sync of the directory failed: then either may be. `mode` is set exactly,
  // whatever the umask.
  virtual Status WriteAtomically(const std::string& path, std::string_view bytes,
                                 unsigned mode = 0600) = 0;
  // Replaces `to` when it is there. The new name survives a power cut when this returns OK.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // OK when there is no such file. Not synced: after a power cut the file may be back, so a reader
  // must be able to live with it.
  virtual Status Remove(const std::string& path) = 0;
  // Makes `path` and what is missing above it. OK when it is there already; its mode is left then.
  virtual Status MakeDirectories(const std::string& path, unsigned mode = 0755) = 0;
  // Locks the file at `path`, which is made with mode 0600 when it is missing, and stays: of all
  // processes of this machine that ask for it one gets it, and again only when it has let go.
  // nullptr when it is held; never waits. NotFound when its directory is missing.
  virtual StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) = 0;
  // Names only, of files and directories, in order; without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
};

}  // namespace galen
