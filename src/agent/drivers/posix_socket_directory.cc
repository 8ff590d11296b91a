#include "agent/drivers/posix_socket_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/data/fnv1a.h"

namespace galen::agent {
namespace {

DirectoryEntry::Kind KindOfFile(unsigned mode) {
  if (S_ISSOCK(mode)) return DirectoryEntry::Kind::kSocket;
  if (S_ISDIR(mode)) return DirectoryEntry::Kind::kDirectory;
  if (S_ISLNK(mode)) return DirectoryEntry::Kind::kSymlink;
  return DirectoryEntry::Kind::kOther;
}

// An inode's number is soon used again, so the time of its birth goes in as well; where the file
// system keeps none, that of its last change.
std::uint64_t StampOf(const struct statx& info) {
  const bool birth = (info.stx_mask & STATX_BTIME) != 0;
  const struct statx_timestamp& time = birth ? info.stx_btime : info.stx_ctime;
  const std::uint64_t parts[] = {info.stx_dev_minor, info.stx_ino,
                                 static_cast<std::uint64_t>(time.tv_sec), time.tv_nsec};
  return Fnv1a({reinterpret_cast<const char*>(parts), sizeof(parts)});
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

using DirectoryEntries = std::vector<DirectoryEntry>;

// nullopt: it went away meanwhile.
std::optional<DirectoryEntry> Look(const std::string& path) {
  struct statx info{};
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &info) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return DirectoryEntry{.path = path, .kind = DirectoryEntry::Kind::kUnreadable};
  }
  return DirectoryEntry{.path = path,
                        .kind = KindOfFile(info.stx_mode),
                        .stamp = StampOf(info),
                        .owner = info.stx_uid};
}

Status ScanInto(const std::string& directory, int depth, DirectoryEntries& entries);

// An unreadable sub-directory hides only the sockets below it.
void Descend(const std::string& directory, int depth, DirectoryEntries& entries) {
  const Status scanned = ScanInto(directory, depth, entries);
  if (scanned.ok() || scanned.code() == Code::kNotFound) return;
  entries.push_back({.path = directory, .kind = DirectoryEntry::Kind::kUnreadable});
}

Status ScanInto(const std::string& directory, int depth, DirectoryEntries& entries) {
  const std::unique_ptr<DIR, CloseDirectory> open(::opendir(directory.c_str()));
  if (open == nullptr) return ErrnoStatus(errno, "open " + directory);
  while (true) {
    errno = 0;
    const dirent* item = ::readdir(open.get());
    if (item == nullptr) break;
    const std::string name = item->d_name;
    if (name == "." || name == ".." || entries.size() >= PosixSocketDirectory::kEntriesMax)
      continue;
    const std::optional<DirectoryEntry> entry = Look(directory + "/" + name);
    if (!entry) continue;
    entries.push_back(*entry);
    // As the kubelet's watcher does: sub-directories are part of the registry, hidden ones are not.
    const bool descend = entry->kind == DirectoryEntry::Kind::kDirectory &&
                         !name.starts_with('.') && depth < PosixSocketDirectory::kDepthMax;
    if (descend) Descend(entry->path, depth + 1, entries);
  }
  return errno == 0 ? OkStatus() : ErrnoStatus(errno, "read " + directory);
}

}  // namespace

Status PosixSocketDirectory::Watch(std::function<void()> on_change) {
  ASSIGN_OR_RETURN(watch_, DirectoryWatch::Start(loop_, directory_, std::move(on_change)));
  return OkStatus();
}

StatusOr<std::vector<DirectoryEntry>> PosixSocketDirectory::Scan() {
  std::vector<DirectoryEntry> entries;
  RETURN_IF_ERROR(ScanInto(directory_, 1, entries));
  for (DirectoryEntry& entry : entries) {
    const bool foreign = trusted_ && entry.owner != 0 && entry.owner != *trusted_;
    if (foreign && entry.kind == DirectoryEntry::Kind::kSocket) {
      entry.kind = DirectoryEntry::Kind::kForeign;
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return entries;
}

StatusOr<std::string> PosixSocketDirectory::RealPath(const std::string& path) {
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  if (real == nullptr) return ErrnoStatus(errno, "resolve " + path);
  return std::string(real.get());
}

}  // namespace galen::agent
