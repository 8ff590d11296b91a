#include "base/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/fd.h"
#include "base/path.h"

namespace galen {
namespace {

// More than any file of ours can hold; keeps an endless device from filling the memory.
constexpr std::size_t kReadBytesMax = std::size_t{512} << 20;

// A rename or a new name is on the disk only when its directory is (fsync(2)).
Status SyncDirectory(const std::string& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  if (::fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + directory);
  return OkStatus();
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "write " + path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return OkStatus();
}

class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status Append(std::string_view bytes) override { return WriteAll(fd_.get(), bytes, path_); }
  Status Sync() override {
    // The file's length is part of what fdatasync keeps; its times are not needed.
    if (::fdatasync(fd_.get()) != 0) return ErrnoStatus(errno, "sync " + path_);
    return OkStatus();
  }

 private:
  const Fd fd_;
  const std::string path_;
};

// Writes, syncs and names the temporary file; what fails leaves it to the caller to remove.
Status Replace(const Fd& fd, const std::string& temporary, const std::string& path,
               std::string_view bytes, unsigned mode) {
  // Before the bytes: a file that must not be read by others is never open to them. mkostemp starts
  // with 0600, and fchmod is not touched by the umask.
  if (::fchmod(fd.get(), mode) != 0) return ErrnoStatus(errno, "change mode of " + temporary);
  RETURN_IF_ERROR(WriteAll(fd.get(), bytes, temporary));
  // Before the rename, or a crash could leave the new name with no bytes behind it.
  if (::fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, "rename to " + path);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::string> PosixFileSystem::Read(const std::string& path) {
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

StatusOr<std::unique_ptr<AppendFile>> PosixFileSystem::OpenAppend(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  // The name of a new file must survive a power cut just as its bytes do.
  RETURN_IF_ERROR(SyncDirectory(ParentOf(path)));
  return std::unique_ptr<AppendFile>(std::make_unique<PosixAppendFile>(std::move(fd), path));
}

Status PosixFileSystem::WriteAtomically(const std::string& path, std::string_view bytes,
                                        unsigned mode) {
  // A name of its own for each writer: two that replace one path must not share a temporary file.
  std::string temporary = path + ".tmp-XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "create " + temporary);
  if (Status status = Replace(fd, temporary, path, bytes, mode); !status.ok()) {
    // The fault that is told is the first one; a temporary file that stays is only untidy.
    ::unlink(temporary.c_str());
    return status;
  }
  return SyncDirectory(ParentOf(path));
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("rename {} to {}", from, to));
  }
  // The old name needs no sync of its own: both names at once after a crash do no harm.
  return SyncDirectory(ParentOf(to));
}

Status PosixFileSystem::Remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "remove " + path);
  return OkStatus();
}

Status PosixFileSystem::MakeDirectories(const std::string& path, unsigned mode) {
  // From the top down; starting at 1 leaves the root alone.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "make directory " + part);
    }
    if (end == std::string::npos) break;
  }
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "look at " + path);
  // EEXIST above is also what a file in the way says.
  if (!S_ISDIR(info.st_mode)) return ErrnoStatus(ENOTDIR, "make directory " + path);
  return OkStatus();
}

StatusOr<std::vector<std::string>> PosixFileSystem::List(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return ErrnoStatus(errno, "list " + directory);
  std::vector<std::string> names;
  // readdir tells the end from an error only by errno, which it leaves as it is at the end.
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
