#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "model/check_result.h"
#include "probes/active_check/check_results.h"

namespace galen::probes {
namespace {

// Two for each of 4096 devices, and some that others left.
constexpr std::size_t kResultFilesMax = 16 * 1024;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Why nobody should believe what it says; "" when nothing speaks against it.
std::string DoubtOf(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return "it is not a plain file";
  if (file.st_uid != 0 && file.st_uid != ::geteuid()) {
    return fmt::format("user {} owns it, not root", file.st_uid);
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("its mode {:04o} lets others write it", file.st_mode & 07777);
  }
  return "";
}

}  // namespace

StatusOr<std::map<std::string, FileStamp>> DiskResultFiles::List(const std::string& path) {
  std::map<std::string, FileStamp> files;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory && errno == ENOENT) return files;
  if (!directory) return ErrnoStatus(errno, "open " + path);
  while (true) {
    // readdir gives null at an error and at the end; errno alone distinguishes them.
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) return ErrnoStatus(errno, "read " + path);
    if (entry == nullptr) return files;
    struct stat file{};
    if (entry->d_name[0] == '.' || files.size() >= kResultFilesMax) continue;
    if (::fstatat(::dirfd(directory.get()), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    files[entry->d_name] = {.inode = file.st_ino,
                            .changed = file.st_ctim.tv_sec * 1'000'000'000 + file.st_ctim.tv_nsec,
                            .bytes = static_cast<std::uint64_t>(file.st_size)};
  }
}

StatusOr<std::string> DiskResultFiles::Read(const std::string& path) {
  // Follows no link, and waits for no pipe.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  struct stat file{};
  if (::fstat(fd.get(), &file) != 0) return ErrnoStatus(errno, "stat " + path);
  if (const std::string doubt = DoubtOf(file); !doubt.empty()) {
    return PermissionDenied("{}: {}", path, doubt);
  }
  // One byte more than a result may have: a longer file is not a result.
  std::string text(kCheckResultBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t read = ::read(fd.get(), text.data() + size, text.size() - size);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return ErrnoStatus(errno, "read " + path);
    if (read == 0) break;
    size += static_cast<std::size_t>(read);
  }
  text.resize(size);
  return text;
}

}  // namespace galen::probes
