#include "agent/node_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

namespace galen::agent {
namespace {

// The process id that the holder wrote, or "of unknown id".
std::string HolderOf(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(fd, text.data(), text.size(), 0);
  std::string id;
  for (ssize_t i = 0;
       i < length &&
       std::isdigit(static_cast<unsigned char>(text.at(static_cast<std::size_t>(i)))) != 0;
       ++i) {
    id += text.at(static_cast<std::size_t>(i));
  }
  return id.empty() ? "of unknown id" : id;
}

Status WriteOwnId(int fd, const std::string& path) {
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) != 0) return ErrnoStatus(errno, "empty " + path);
  const ssize_t written = ::pwrite(fd, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return ErrnoStatus(errno, "write " + path);
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<NodeLock>> NodeLock::Take(const std::string& path) {
  // Not truncated by opening: until the lock is ours the id in it is the holder's. Closed on exec,
  // or a child would keep the lock.
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + path);
    return AlreadyExists("another agent, process {}, holds {}: stop it first", HolderOf(fd.get()),
                         path);
  }
  // A disk that is full holds up no agent: the lock is what counts.
  if (const Status written = WriteOwnId(fd.get(), path);
      !written.ok() && written.code() != Code::kResourceExhausted) {
    return written;
  }
  return std::unique_ptr<NodeLock>(new NodeLock(std::move(fd)));
}

StatusOr<std::unique_ptr<NodeLock>> NodeLock::TakeRegistry(const std::string& directory) {
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno != ENOENT) return ErrnoStatus(errno, "open " + directory);
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + directory);
    return AlreadyExists(
        "another agent of this node listens to {}, maybe with another --state-dir: stop it first",
        directory);
  }
  return std::unique_ptr<NodeLock>(new NodeLock(std::move(fd)));
}

}  // namespace galen::agent
