#include "base/files/directory_watch.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "base/fd.h"
#include "base/path.h"

namespace galen {
namespace {

// A registry holds a dozen directories. Past this the rest is not watched, so that a tree that
// grows without end cannot use up the machine's watches.
constexpr std::size_t kDirectoriesMax = 4096;

// The watched directory itself went: its watch descriptor is worth nothing from then on.
constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF;
// IN_CLOSE_WRITE instead of IN_MODIFY: one event when a file is complete, not one for each write.
// IN_ONLYDIR: a file that took the directory's name is not watched.
constexpr std::uint32_t kTreeEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                      IN_CLOSE_WRITE | IN_ATTRIB | kGone | IN_ONLYDIR;
// Watched on a directory above: what may bring the watched one, and what takes it away. The
// directory's own events are late: they come only when no process holds it open any more, e.g. as
// working directory or lock.
constexpr std::uint32_t kParentEvents =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | kGone | IN_ONLYDIR;

// The error of inotify_add_watch with IN_ONLYDIR: no directory has this name.
bool IsMissing(int error) { return error == ENOENT || error == ENOTDIR; }

bool IsDirectory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Real directories only: a link could lead in a circle.
std::vector<std::string> Subdirectories(const std::string& path) {
  std::vector<std::string> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(path.c_str()), ::closedir);
  if (!stream) return paths;
  // A directory that goes while it is listed ends the listing early; its going is an event too.
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    std::string below = path + "/" + std::string(name);
    struct stat info{};
    if (::lstat(below.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      paths.push_back(std::move(below));
    }
  }
  return paths;
}

}  // namespace

struct DirectoryWatch::Impl {
  // The result of one reading of the kernel's events.
  struct Events {
    bool any_in_tree = false;
    bool shape = false;  // directories came or went
  };

  Status WatchEverything();
  void WatchParent();
  void MoveParentTo(int wd);
  Status WatchNearestParent();
  Status WatchTree();
  Events ReadEvents();
  Events Judge(const inotify_event& event, std::string_view name) const;
  void OnReadable();

  std::string directory;
  std::function<void()> on_change;
  Fd fd;
  std::set<int> tree;  // watch descriptors of the tree; empty while it is missing
  // That of the directory above it; while it is missing, of the nearest one. None: it may not be
  // watched.
  std::optional<int> parent;
  FdWatch watch;
};

// Makes the watches match the directories there are. Asking again for one that is watched already
// gives its old descriptor, so only those that are gone need to be taken off.
Status DirectoryWatch::Impl::WatchEverything() {
  // The old ones are taken off last, so that no moment passes without a watch on what stays.
  const std::set<int> before = std::exchange(tree, {});
  const std::optional<int> parent_before = std::exchange(parent, std::nullopt);
  Status status;
  do {
    // Directories above first, so that a removal during the setup is still an event.
    WatchParent();
    status = WatchTree();
    if (tree.empty()) {
      const Status above = WatchNearestParent();
      if (status.ok()) status = above;
    }
    // Once more when it came while we looked above it; not when it is there and cannot be watched.
  } while (tree.empty() && status.ok() && IsDirectory(directory));
  for (const int wd : before) {
    if (tree.count(wd) == 0 && wd != parent) ::inotify_rm_watch(fd.get(), wd);
  }
  if (parent_before && parent_before != parent && tree.count(*parent_before) == 0) {
    ::inotify_rm_watch(fd.get(), *parent_before);
  }
  return status;
}

// OK also when the directory is missing; not when it is there and cannot be watched.
Status DirectoryWatch::Impl::WatchTree() {
  Status status;
  std::vector<std::string> waiting = {directory};
  while (!waiting.empty() && tree.size() < kDirectoriesMax) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    // A directory that is gone again, or that we may not read, is left out. One that is in the set
    // already is the same directory by another way: its children are listed already.
    const int wd = ::inotify_add_watch(fd.get(), path.c_str(), kTreeEvents);
    if (wd < 0 && path == directory && !IsMissing(errno)) {
      status = ErrnoStatus(errno, "watch " + path);
    }
    if (wd < 0 || !tree.insert(wd).second) continue;
    // Listed after it is watched, so that whatever comes later is an event.
    for (std::string& below : Subdirectories(path)) waiting.push_back(std::move(below));
  }
  return status;
}

// A parent that may not be watched is left out: then only the removal of a directory that somebody
// holds open goes unseen.
void DirectoryWatch::Impl::WatchParent() {
  const std::string above = ParentOf(directory);
  if (above == directory) return;
  const int wd = ::inotify_add_watch(fd.get(), above.c_str(), kParentEvents);
  if (wd >= 0) MoveParentTo(wd);
}

// The previous watch, farther up or nearer, is from an earlier round.
void DirectoryWatch::Impl::MoveParentTo(int wd) {
  if (parent && parent != wd) ::inotify_rm_watch(fd.get(), *parent);
  parent = wd;
}

Status DirectoryWatch::Impl::WatchNearestParent() {
  for (std::string path = ParentOf(directory);; path = ParentOf(path)) {
    const int wd = ::inotify_add_watch(fd.get(), path.c_str(), kParentEvents);
    if (wd >= 0) {
      MoveParentTo(wd);
      return OkStatus();
    }
    // Any other error (no permission, no watches left) is the same higher up.
    if (!IsMissing(errno) || path == "/" || path == ".") return ErrnoStatus(errno, "watch " + path);
  }
}

DirectoryWatch::Impl::Events DirectoryWatch::Impl::ReadEvents() {
  Events seen;
  // Room for many events; one with the longest name takes 272 bytes (inotify(7)).
  alignas(inotify_event) std::array<char, 16 * 1024> buffer;
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    // EAGAIN: all was read. Other errors cannot be mended here, and the next event comes anyway.
    if (count <= 0) return seen;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      // Copied out, because the name's length need not keep the next event aligned.
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      // Padded with zeros; "" when the event is about the directory itself.
      const std::string name(buffer.data() + at + sizeof(event), event.len);
      at += sizeof(event) + event.len;
      const Events found = Judge(event, name.c_str());
      seen.any_in_tree |= found.any_in_tree;
      seen.shape |= found.shape;
    }
  }
}

DirectoryWatch::Impl::Events DirectoryWatch::Impl::Judge(const inotify_event& event,
                                                         std::string_view name) const {
  // After an overflow the kernel has dropped events: treated as if everything had changed.
  if ((event.mask & IN_Q_OVERFLOW) != 0) return {.any_in_tree = true, .shape = true};
  const bool self = (event.mask & (IN_IGNORED | kGone)) != 0;
  if (tree.count(event.wd) != 0) {
    return {.any_in_tree = true, .shape = self || (event.mask & IN_ISDIR) != 0};
  }
  // Events of the directory's neighbours matter only while it is missing.
  const bool neighbour = event.wd == parent && !tree.empty() && !self &&
                         name != directory.substr(directory.rfind('/') + 1);
  // Otherwise an event from above, or of a watch that was removed just now: either way the tree is
  // watched anew.
  return {.any_in_tree = false, .shape = !neighbour};
}

void DirectoryWatch::Impl::OnReadable() {
  const Events events = ReadEvents();
  const std::set<int> before = tree;
  // A failure leaves what is watched as it is; those who need more also look from time to time.
  if (events.shape && !WatchEverything().ok()) tree.clear();
  // Events above the directory matter only when it came, went or was replaced.
  if (!events.any_in_tree && before == tree) return;
  const std::function<void()> notify = on_change;  // which may destroy this
  notify();
}

DirectoryWatch::DirectoryWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DirectoryWatch::~DirectoryWatch() = default;

StatusOr<std::unique_ptr<DirectoryWatch>> DirectoryWatch::Start(IoLoop& loop, std::string directory,
                                                                std::function<void()> on_change) {
  auto impl = std::make_unique<Impl>();
  impl->directory = std::move(directory);
  impl->on_change = std::move(on_change);
  impl->fd = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!impl->fd) return ErrnoStatus(errno, "create inotify");
  RETURN_IF_ERROR(impl->WatchEverything());
  impl->watch = loop.WatchFd(impl->fd.get(), {.readable = true},
                             [i = impl.get()](Readiness) { i->OnReadable(); });
  return std::unique_ptr<DirectoryWatch>(new DirectoryWatch(std::move(impl)));
}

}  // namespace galen
