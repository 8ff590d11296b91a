// Tested by posix_file_system_test.cc and file_system_test.cc, which run on it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/fd.h"
#include "base/files/posix_file_system.h"
#include "base/files/temporary_files.h"

namespace galen {
namespace {

// More than any file of ours can hold; keeps an endless device from filling the memory.
constexpr std::size_t kReadBytesMax = std::size_t{512} << 20;

class PosixDiskFile final : public DiskFile {
 public:
  PosixDiskFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  StatusOr<std::size_t> Write(std::string_view bytes) override {
    ssize_t written = -1;
    do {
      written = ::write(fd_.get(), bytes.data(), bytes.size());
    } while (written < 0 && errno == EINTR);
    if (written < 0) return ErrnoStatus(errno, "write " + path_);
    return static_cast<std::size_t>(written);
  }

  Status TakeBack(std::size_t bytes) override {
    const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
    if (end < 0 || ::ftruncate(fd_.get(), end - static_cast<off_t>(bytes)) != 0) {
      return ErrnoStatus(errno, "shorten " + path_);
    }
    return OkStatus();
  }

  Status Sync() override {
    // The file's length is part of what fdatasync keeps; its times are not needed.
    if (::fdatasync(fd_.get()) != 0) return ErrnoStatus(errno, "sync " + path_);
    return OkStatus();
  }

 private:
  const Fd fd_;
  const std::string path_;
};

// An flock(2), held until the last copy of its descriptor is closed. A forked process that runs no
// other program keeps a copy, maybe for long. So the holder unlocks (LOCK_UN), which counts for all
// copies, and a forked process only closes its copy.
class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Fd fd) : fd_(std::move(fd)) {}
  ~PosixFileLock() override {
    if (::getpid() == holder_) ::flock(fd_.get(), LOCK_UN);
  }

  PosixFileLock(const PosixFileLock&) = delete;
  PosixFileLock& operator=(const PosixFileLock&) = delete;

 private:
  const Fd fd_;
  const pid_t holder_ = ::getpid();
};

}  // namespace

StatusOr<std::string> PosixDisk::Read(const std::string& path) {
  // Not blocking, so that a pipe somebody put there cannot hang us.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  std::string bytes;
  char buffer[64 * 1024];
  // Read to the end, not to st_size: files below /proc and /sys say zero.
  while (bytes.size() <= kReadBytesMax) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read " + path);
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  return ResourceExhausted("read {}: it is larger than {} bytes", path, kReadBytesMax);
}

StatusOr<std::unique_ptr<DiskFile>> PosixDisk::OpenAppend(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  return std::unique_ptr<DiskFile>(std::make_unique<PosixDiskFile>(std::move(fd), path));
}

StatusOr<Disk::Temporary> PosixDisk::CreateTemporary(const std::string& path, unsigned mode) {
  // A name of its own for each writer: two that replace one path must not share a temporary file.
  std::string temporary = fmt::format("{}{}XXXXXX", path, kTemporaryMark);
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "create " + temporary);
  // Before any bytes: a file that must not be read by others is never open to them. mkostemp starts
  // with 0600, and fchmod is not touched by the umask.
  if (::fchmod(fd.get(), mode) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return ErrnoStatus(error, "change mode of " + temporary);
  }
  auto file = std::make_unique<PosixDiskFile>(std::move(fd), temporary);
  return Temporary{std::move(file), std::move(temporary)};
}

Status PosixDisk::SyncDirectory(const std::string& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  if (::fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + directory);
  return OkStatus();
}

Status PosixDisk::Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return OkStatus();
  return ErrnoStatus(errno, fmt::format("rename {} to {}", from, to));
}

Status PosixDisk::Remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, "remove " + path);
  return OkStatus();
}

Status PosixDisk::MakeDirectory(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) != 0) return ErrnoStatus(errno, "make directory " + path);
  return OkStatus();
}

Status PosixDisk::CheckDirectory(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "look at " + path);
  if (!S_ISDIR(info.st_mode)) return ErrnoStatus(ENOTDIR, "look at " + path);
  return OkStatus();
}

StatusOr<std::unique_ptr<FileLock>> PosixDisk::TryLock(const std::string& path) {
  // Closed on exec, or a child would keep the lock.
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
    return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(fd)));
  }
  if (errno == EWOULDBLOCK) return std::unique_ptr<FileLock>();
  return ErrnoStatus(errno, "lock " + path);
}

StatusOr<std::vector<std::string>> PosixDisk::List(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return ErrnoStatus(errno, "list " + directory);
  std::vector<std::string> names;
  // readdir distinguishes the end from an error only by errno, which it leaves unchanged at the
  // end.
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoStatus(errno, "list " + directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace galen
