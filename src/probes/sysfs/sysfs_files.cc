#include "probes/sysfs/sysfs_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/files/posix_file_system.h"

namespace galen::probes {
namespace {

enum class From { kHere, kStart };

// Reads what open(2) gave, with the path for errors: of the file, or of its directory and below
// that. A pipe has no start to read from.
StatusOr<std::string> ReadAll(const Fd& fd, From from, std::string_view directory,
                              std::string_view file) {
  const auto path = [&] {
    return directory.empty() ? std::string(file) : fmt::format("{}/{}", directory, file);
  };
  const auto failed = [&](int error) { return ErrnoStatus(error, path()); };
  if (!fd) return failed(errno);
  // An attribute is a page at most: whole in one read, and nothing large is asked of the heap.
  std::array<char, 4096> page;
  std::string text;
  while (true) {
    const ssize_t count = from == From::kStart ? ::pread(fd.get(), page.data(), page.size(),
                                                         static_cast<off_t>(text.size()))
                                               : ::read(fd.get(), page.data(), page.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    text.append(page.data(), static_cast<std::size_t>(count));
    if (text.size() > kSysfsFileBytesMax) {
      return ResourceExhausted("{}: more than {} bytes", path(), kSysfsFileBytesMax);
    }
    if (static_cast<std::size_t>(count) < page.size()) return text;
  }
}

// A descriptor to keep, or an empty one. Where links lead, such as that to a device's driver, may
// change while the files behind them are as they were. Files of sysfs that are removed refuse to be
// read; elsewhere only a change of their own directory is noticed.
Fd OpenToKeep(const SysfsDirectory& directory, const std::string& file) {
  struct statfs system = {};
  if (::fstatfs(directory.fd.get(), &system) != 0) return {};
  if (system.f_type != SYSFS_MAGIC && file.find('/') != std::string::npos) return {};
  struct stat status = {};
  // To open a pipe would wake who waits to write into it.
  const bool plain =
      ::fstatat(directory.fd.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(status.st_mode);
  if (!plain) return {};
  open_how how = {.flags = O_RDONLY | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_NO_SYMLINKS};
  return Fd(static_cast<int>(
      ::syscall(SYS_openat2, directory.fd.get(), file.c_str(), &how, sizeof(how))));
}

}  // namespace

StatusOr<std::string> RealSysfs::Read(const std::string& path) const {
  if (const std::string node = NvmeNodeOf(path); !node.empty()) return ReadNvmeSmart(node);
  return ReadAll(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), From::kHere, "", path);
}

std::optional<SysfsDirectory> RealSysfs::Open(SysfsDirectory last) const {
  last.fd = Fd(::open(last.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // With no descriptor to spare, the directory is there all the same.
  if (!last.fd && !IsDirectory(last.path)) return std::nullopt;
  std::optional<SysfsDirectory::Identity> now;
  struct stat status = {};
  if (last.keep_open > 0 && last.fd && ::fstat(last.fd.get(), &status) == 0) {
    now = {status.st_dev, status.st_ino,
           status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
  }
  last.settled = now && now == last.identity;
  last.identity = now;
  if (!last.settled) last.kept.clear();
  return last;
}

StatusOr<std::string> RealSysfs::ReadIn(SysfsDirectory& directory, const std::string& file) const {
  // No descriptor to go by, or a file that is not the kernel's.
  const bool by_path = !directory.fd || file.ends_with(kSmartFile.substr(1));
  if (by_path) return Read(directory.path + "/" + file);
  auto kept = directory.kept.find(file);
  if (kept == directory.kept.end() && directory.settled &&
      directory.kept.size() < directory.keep_open) {
    kept = directory.kept.emplace(file, OpenToKeep(directory, file)).first;
  }
  if (kept != directory.kept.end() && kept->second) {
    StatusOr<std::string> text = ReadAll(kept->second, From::kStart, directory.path, file);
    if (text.ok()) return text;
    // It may be there anew, and says itself why it cannot be read.
    directory.kept.erase(kept);
  }
  return ReadAll(Fd(::openat(directory.fd.get(), file.c_str(), O_RDONLY | O_CLOEXEC)), From::kHere,
                 directory.path, file);
}

std::size_t FilesToKeepOpen() {
  constexpr rlim_t kMost = 2048;  // 64 devices of 30 files; 8 MiB of the kernel
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(std::min(kMost, limit.rlim_cur / 2));
}

StatusOr<std::vector<std::string>> RealSysfs::List(const std::string& directory) const {
  return PosixFileSystem().List(directory);
}

bool RealSysfs::IsDirectory(const std::string& path) const {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string RealSysfs::Resolve(const std::string& path) const {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? "" : real.string();
}

}  // namespace galen::probes
