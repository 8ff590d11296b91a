// A disk in memory that keeps no more than fsync(2) promises: until they are synced, bytes and
// names live in a cache, and a power cut keeps none, all or any of them, torn at any byte and out
// of order. It fills up in the middle of a write, fails syncs and then forgets what they were for,
// and dies at a chosen operation. For tests; DurableFileSystem on top of it is the code that runs
// on the kernel's disk. No links, no permissions; `mode` is ignored. One thread; outlives the files
// it opened.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files/disk.h"
#include "base/random.h"

namespace galen {

class FakeDisk final : public Disk {
 public:
  // What a power cut keeps of that which was not synced.
  enum class Unsynced {
    kLost,
    kKept,
    // Each write whole, in part or not at all, each change of a name or not, in any combination; a
    // file may have its new length with zeros in it.
    kChance,
  };

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

  // After `operations` more that change or sync something, the machine stops: the next one is half
  // done if it is a write and not done otherwise, `stopped` is called, and everything, reads too,
  // is Unavailable until Restart or CutPower.
  void StopAfter(std::uint64_t operations, std::function<void()> stopped = [] {});
  bool stopped() const { return stopped_; }
  // Goes on as after kill -9: the cache is what it was. Handles of before are the dead process's.
  void Restart();
  // Goes on as after a power cut, with nothing in the cache. What kChance keeps is by `chance`.
  void CutPower(Unsynced unsynced, Random& chance);

  // All files together hold at most this many bytes: a write takes what fits and the next answers
  // that there is no space left. Names cost nothing. nullopt, as it is at first: no bound.
  void SetRoom(std::optional<std::size_t> bytes) { room_ = bytes; }
  // The sync after `syncs` more, of a file or a directory, answers EIO, and the syncs after it
  // answer OK without what it was for: the kernel has forgotten that it was not written. A power
  // cut of kChance may keep it, any other loses it. nullopt takes the fault back.
  void FailSync(std::optional<std::uint64_t> syncs = 0) { failing_sync_ = syncs; }

  // How many operations changed or synced something so far.
  std::uint64_t operations() const { return operations_; }
  // Bytes of all files that have a name.
  std::size_t bytes_used() const;

 private:
  friend class FakeDiskFile;
  // A run of bytes that one write added.
  struct Extent {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // What a name leads to. A file's bytes as readers see them, and as they survive a power cut.
  struct Node {
    bool is_directory = false;
    std::string bytes, on_platter;
    std::vector<Extent> unsynced;   // the next sync writes them
    std::vector<Extent> forgotten;  // their sync failed: no later one writes them
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  // One change of names in the cache; of a rename both ends, which happen together.
  struct NameChange {
    std::string directory;
    std::vector<std::pair<std::string, std::shared_ptr<Node>>> names;  // null: removed
  };

  // Counts an operation; an error when the machine has stopped, or stops now.
  Status Begin();
  // The same for one that makes or replaces `path`.
  Status BeginName(const std::string& path);
  Status CheckAlive() const;
  bool IsDirectory(const std::string& path) const;
  // Applies it to the cache and remembers that it is not synced.
  void Change(NameChange change);
  static void Apply(const NameChange& change, Names& names);
  StatusOr<std::size_t> Write(Node& node, std::string_view bytes);
  Status TakeBack(Node& node, std::size_t bytes);
  Status SyncFile(Node& node);
  bool SyncFails();
  static void Settle(Node& node, Unsynced unsynced, Random& chance);
  static void Tear(Node& node, Extent extent, Random& chance);
  static void PutOnPlatter(Node& node, Extent extent);

  Names names_;             // as processes see them
  Names names_on_platter_;  // as synced; what has lost its directory goes with the power
  std::vector<NameChange> name_changes_, forgotten_name_changes_;
  std::optional<std::size_t> room_;
  std::optional<std::uint64_t> failing_sync_;
  std::optional<std::uint64_t> stop_at_;
  std::function<void()> on_stop_;
  bool stopped_ = false;
  std::uint64_t operations_ = 0;
  std::set<std::string> locked_;  // paths; who holds one takes it out again
  int temporaries_ = 0;
};

}  // namespace galen
