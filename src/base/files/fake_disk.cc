#include "base/files/fake_disk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files/fake_file_lock.h"
#include "base/files/temporary_files.h"
#include "base/path.h"

namespace galen {

// Writes to a file that may meanwhile be renamed or removed, as a descriptor does.
class FakeDiskFile final : public DiskFile {
 public:
  FakeDiskFile(FakeDisk& disk, std::shared_ptr<FakeDisk::Node> node)
      : disk_(disk), node_(std::move(node)) {}

  StatusOr<std::size_t> Write(std::string_view bytes) override {
    return disk_.Write(*node_, bytes);
  }
  Status TakeBack(std::size_t bytes) override { return disk_.TakeBack(*node_, bytes); }
  Status Sync() override { return disk_.SyncFile(*node_); }

 private:
  FakeDisk& disk_;
  const std::shared_ptr<FakeDisk::Node> node_;
};

// ---- what goes wrong -----------------------------------------------------------------------

void FakeDisk::StopAfter(std::uint64_t operations, std::function<void()> stopped) {
  stop_at_ = operations_ + operations;
  on_stop_ = std::move(stopped);
}

void FakeDisk::Restart() {
  stopped_ = false;
  stop_at_ = std::nullopt;
}

void FakeDisk::CutPower(Unsynced unsynced, Random& chance) {
  Restart();
  // When one name changed twice, the later change wins; the forgotten ones are older.
  const double forgotten = unsynced == Unsynced::kChance ? 0.5 : 0;
  const double waiting = unsynced == Unsynced::kKept ? 1 : forgotten;
  for (const NameChange& change : std::exchange(forgotten_name_changes_, {})) {
    if (chance.Chance(forgotten)) Apply(change, names_on_platter_);
  }
  for (const NameChange& change : std::exchange(name_changes_, {})) {
    if (chance.Chance(waiting)) Apply(change, names_on_platter_);
  }
  names_.clear();
  // In order of their paths, so that a directory comes before what is in it.
  for (const auto& [path, node] : names_on_platter_) {
    if (!IsDirectory(ParentOf(path))) continue;
    Settle(*node, unsynced, chance);
    names_.emplace(path, node);
  }
  names_on_platter_ = names_;
}

void FakeDisk::Settle(Node& node, Unsynced unsynced, Random& chance) {
  if (unsynced == Unsynced::kKept) {
    for (const Extent& extent : node.unsynced) PutOnPlatter(node, extent);
  }
  if (unsynced == Unsynced::kChance) {
    for (const Extent& extent : node.forgotten) Tear(node, extent, chance);
    for (const Extent& extent : node.unsynced) Tear(node, extent, chance);
  }
  node.unsynced.clear();
  node.forgotten.clear();
  node.bytes = node.on_platter;
}

// Nothing, the length alone, or a run of the bytes from anywhere to anywhere.
void FakeDisk::Tear(Node& node, Extent extent, Random& chance) {
  if (chance.Chance(0.3)) return;
  const std::size_t size = extent.end - extent.begin;
  std::size_t begin = chance.Chance(0.5) ? 0 : chance.Below(size + 1);
  std::size_t end = chance.Chance(0.5) ? size : chance.Below(size + 1);
  if (begin > end) std::swap(begin, end);
  // Blocks are written in any order, so what lies before may still be empty.
  const bool whole_length = chance.Chance(0.3);
  const std::size_t length = extent.begin + (whole_length ? size : end);
  node.on_platter.resize(std::max(node.on_platter.size(), length));
  PutOnPlatter(node, {extent.begin + begin, extent.begin + end});
}

// Where a write before it is missing, the platter has zeros.
void FakeDisk::PutOnPlatter(Node& node, Extent extent) {
  const std::size_t size = extent.end - extent.begin;
  node.on_platter.resize(std::max(node.on_platter.size(), extent.end));
  node.on_platter.replace(extent.begin, size, node.bytes, extent.begin, size);
}

// ---- the verbs -----------------------------------------------------------------------------

StatusOr<std::string> FakeDisk::Read(const std::string& path) {
  RETURN_IF_ERROR(CheckAlive());
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "read " + path);
  const auto found = names_.find(path);
  if (found == names_.end()) return ErrnoStatus(ENOENT, "open " + path);
  return found->second->bytes;
}

StatusOr<std::unique_ptr<DiskFile>> FakeDisk::OpenAppend(const std::string& path) {
  RETURN_IF_ERROR(CheckAlive());
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "open " + path);
  if (!names_.contains(path)) {
    RETURN_IF_ERROR(BeginName(path));
    Change({ParentOf(path), {{path, std::make_shared<Node>()}}});
  }
  return std::unique_ptr<DiskFile>(std::make_unique<FakeDiskFile>(*this, names_.at(path)));
}

StatusOr<Disk::Temporary> FakeDisk::CreateTemporary(const std::string& path, unsigned) {
  std::string temporary;
  do {
    temporary = fmt::format("{}{}{:06}", path, kTemporaryMark, ++temporaries_);
  } while (names_.contains(temporary));
  RETURN_IF_ERROR(BeginName(temporary));
  auto node = std::make_shared<Node>();
  Change({ParentOf(temporary), {{temporary, node}}});
  return Temporary{std::make_unique<FakeDiskFile>(*this, std::move(node)), temporary};
}

Status FakeDisk::SyncDirectory(const std::string& directory) {
  RETURN_IF_ERROR(CheckAlive());
  if (!IsDirectory(directory)) return ErrnoStatus(ENOENT, "open " + directory);
  RETURN_IF_ERROR(Begin());
  const bool fails = SyncFails();
  for (const NameChange& change : name_changes_) {
    if (change.directory != directory) continue;
    if (fails) {
      forgotten_name_changes_.push_back(change);
    } else {
      Apply(change, names_on_platter_);
    }
  }
  std::erase_if(name_changes_,
                [&](const NameChange& change) { return change.directory == directory; });
  return fails ? ErrnoStatus(EIO, "sync " + directory) : OkStatus();
}

Status FakeDisk::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(CheckAlive());
  const auto found = names_.find(from);
  if (found == names_.end()) return ErrnoStatus(ENOENT, fmt::format("rename {} to {}", from, to));
  if (from == to) return OkStatus();
  RETURN_IF_ERROR(BeginName(to));
  Change({ParentOf(to), {{from, nullptr}, {to, found->second}}});
  return OkStatus();
}

Status FakeDisk::Remove(const std::string& path) {
  RETURN_IF_ERROR(CheckAlive());
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "remove " + path);
  if (!names_.contains(path)) return ErrnoStatus(ENOENT, "remove " + path);
  RETURN_IF_ERROR(Begin());
  Change({ParentOf(path), {{path, nullptr}}});
  return OkStatus();
}

Status FakeDisk::MakeDirectory(const std::string& path, unsigned) {
  RETURN_IF_ERROR(CheckAlive());
  if (names_.contains(path) || IsDirectory(path)) {
    return ErrnoStatus(EEXIST, "make directory " + path);
  }
  RETURN_IF_ERROR(BeginName(path));
  auto node = std::make_shared<Node>();
  node->is_directory = true;
  Change({ParentOf(path), {{path, std::move(node)}}});
  return OkStatus();
}

Status FakeDisk::CheckDirectory(const std::string& path) {
  RETURN_IF_ERROR(CheckAlive());
  if (IsDirectory(path)) return OkStatus();
  return ErrnoStatus(names_.contains(path) ? ENOTDIR : ENOENT, "look at " + path);
}

StatusOr<std::unique_ptr<FileLock>> FakeDisk::TryLock(const std::string& path) {
  RETURN_IF_ERROR(OpenAppend(path).status());
  if (!locked_.insert(path).second) return std::unique_ptr<FileLock>();
  return std::unique_ptr<FileLock>(std::make_unique<FakeFileLock>(locked_, path));
}

StatusOr<std::vector<std::string>> FakeDisk::List(const std::string& directory) {
  RETURN_IF_ERROR(CheckAlive());
  if (!IsDirectory(directory)) {
    return ErrnoStatus(names_.contains(directory) ? ENOTDIR : ENOENT, "list " + directory);
  }
  std::vector<std::string> names;
  for (const auto& [path, node] : names_) {
    if (path != directory && ParentOf(path) == directory) {
      names.push_back(path.substr(path.find_last_of('/') + 1));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// ---- below them ----------------------------------------------------------------------------

StatusOr<std::size_t> FakeDisk::Write(Node& node, std::string_view bytes) {
  RETURN_IF_ERROR(CheckAlive());
  const Status begun = Begin();
  // The machine stops in the middle of it.
  std::size_t size = begun.ok() ? bytes.size() : bytes.size() / 2;
  if (room_) {
    const std::size_t used = bytes_used();
    const std::size_t left = *room_ > used ? *room_ - used : 0;
    if (begun.ok() && left == 0) return ErrnoStatus(ENOSPC, "write");
    size = std::min(size, left);
  }
  if (size > 0) node.unsynced.push_back({node.bytes.size(), node.bytes.size() + size});
  node.bytes.append(bytes.substr(0, size));
  if (!begun.ok()) return begun;
  return size;
}

Status FakeDisk::TakeBack(Node& node, std::size_t bytes) {
  RETURN_IF_ERROR(Begin());
  node.bytes.resize(node.bytes.size() - bytes);
  const std::size_t size = node.bytes.size();
  std::erase_if(node.unsynced, [size](const Extent& extent) { return extent.begin >= size; });
  for (Extent& extent : node.unsynced) extent.end = std::min(extent.end, size);
  return OkStatus();
}

Status FakeDisk::SyncFile(Node& node) {
  RETURN_IF_ERROR(Begin());
  const std::vector<Extent> due = std::exchange(node.unsynced, {});
  if (SyncFails()) {
    node.forgotten.insert(node.forgotten.end(), due.begin(), due.end());
    return ErrnoStatus(EIO, "sync");
  }
  for (const Extent& extent : due) PutOnPlatter(node, extent);
  return OkStatus();
}

bool FakeDisk::SyncFails() {
  if (!failing_sync_) return false;
  if ((*failing_sync_)-- > 0) return false;
  failing_sync_ = std::nullopt;
  return true;
}

void FakeDisk::Change(NameChange change) {
  Apply(change, names_);
  name_changes_.push_back(std::move(change));
}

void FakeDisk::Apply(const NameChange& change, Names& names) {
  for (const auto& [path, node] : change.names) {
    if (node == nullptr) {
      names.erase(path);
    } else {
      names[path] = node;
    }
  }
}

Status FakeDisk::Begin() {
  RETURN_IF_ERROR(CheckAlive());
  if (!stop_at_ || operations_ < *stop_at_) {
    ++operations_;
    return OkStatus();
  }
  stopped_ = true;
  on_stop_();
  return CheckAlive();
}

Status FakeDisk::BeginName(const std::string& path) {
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "open " + path);
  const std::string parent = ParentOf(path);
  if (!IsDirectory(parent)) {
    return ErrnoStatus(names_.contains(parent) ? ENOTDIR : ENOENT, "open " + path);
  }
  return Begin();
}

Status FakeDisk::CheckAlive() const {
  return stopped_ ? Unavailable("the machine has stopped") : OkStatus();
}

// The root and the working directory are always there.
bool FakeDisk::IsDirectory(const std::string& path) const {
  if (path == "/" || path == ".") return true;
  const auto found = names_.find(path);
  return found != names_.end() && found->second->is_directory;
}

std::size_t FakeDisk::bytes_used() const {
  std::size_t used = 0;
  for (const auto& [path, node] : names_) used += node->bytes.size();
  return used;
}

}  // namespace galen
