// A disk in memory that can lose what was not synced, tear a write and fill up. For tests; keeps
// the contract of FileSystem (file_system_test runs it beside the real disk). Names are taken as
// they are: no links, no "..", no permissions, `mode` is ignored. Only the bytes of a file are lost
// by a crash; that a name was made, moved or removed survives it at once. One thread; outlives the
// files it opened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/files/file_system.h"

namespace galen {

class FakeFileSystem final : public FileSystem {
 public:
  StatusOr<std::string> Read(const std::string& path) override;
  StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status WriteAtomically(const std::string& path, std::string_view bytes, unsigned mode) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status MakeDirectories(const std::string& path, unsigned mode) override;
  StatusOr<std::unique_ptr<FileLock>> TryLock(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) override;

  // Power cut: of each file only what was synced is left, plus at most `torn_bytes` of what came
  // after. What is left counts as synced. Open handles stay usable; a test that plays a restart
  // drops them.
  void Crash(std::size_t torn_bytes = 0);
  // Once `after` more writes have passed, every write and sync answers this; nullopt ends it. An
  // append takes half of its bytes before it fails. ENOSPC is ResourceExhausted: a full disk lets
  // files be removed; any other fault refuses that too.
  void FailWrites(std::optional<Status> status, std::uint64_t after = 0);

  // How often something was written, synced, made, renamed or removed, refused tries left out; "no
  // periodic write" is a difference of zero.
  std::uint64_t writes() const { return writes_; }

 private:
  friend class FakeAppendFile;
  // The bytes as a reader sees them; the first `synced` of them are on the disk.
  struct File {
    std::string bytes;
    std::size_t synced = 0;
  };

  bool IsDirectory(const std::string& path) const;
  // Counts a write, or answers the fault.
  Status StartWrite();
  // The same for a write that makes `path`.
  Status StartCreate(const std::string& path);

  std::map<std::string, std::shared_ptr<File>> files_;  // shared with handles that are still open
  std::set<std::string> directories_;
  std::set<std::string> locked_;  // paths; who holds one takes it out again
  std::optional<Status> fault_;
  std::uint64_t fault_from_ = 0;  // how many writes pass before it
  std::uint64_t writes_ = 0;
};

}  // namespace galen
