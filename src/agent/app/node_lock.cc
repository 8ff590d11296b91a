#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <utility>

#include "agent/app/agent_process.h"
#include "base/path.h"

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

// Not truncated by opening: until the lock is ours the id in it is the holder's. Closed on exec, or
// a child would keep the lock. Empty on a disk that became read-only, as one does after errors, and
// has no such file: a node that cannot record must still publish.
StatusOr<Fd> OpenFile(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const int error = errno;
  if (!fd && error == EROFS) fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && error != EROFS) return ErrnoStatus(error, "open " + path);
  return fd;
}

// AlreadyExists where another process holds it; `file` may say which one does.
Status Lock(int fd, const Fd& file, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return OkStatus();
  if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + path);
  return AlreadyExists("another agent, process {}, holds {}: stop it first", HolderOf(file.get()),
                       path);
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
  ASSIGN_OR_RETURN(Fd file, OpenFile(path));
  const std::string parent = ParentOf(path);
  Fd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return ErrnoStatus(errno, "open " + parent);
  // Lock both: the directory is all that can be locked on a read-only disk, which may be writable
  // again for the next agent; the file is what older agents lock.
  const Status both = Lock(directory.get(), file, path);
  // NFS locks nothing that is not open for writing; the file is enough there.
  if (!both.ok() && (both.code() == Code::kAlreadyExists || !file)) return both;
  if (!file) return std::unique_ptr<NodeLock>(new NodeLock(std::move(directory)));
  RETURN_IF_ERROR(Lock(file.get(), file, path));
  // A disk that is full or read-only holds up no agent: the lock is what counts.
  const bool writable = (::fcntl(file.get(), F_GETFL) & O_ACCMODE) != O_RDONLY;
  const Status written = writable ? WriteOwnId(file.get(), path) : OkStatus();
  if (!written.ok() && written.code() != Code::kResourceExhausted) return written;
  return std::unique_ptr<NodeLock>(new NodeLock(std::move(directory), std::move(file)));
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
