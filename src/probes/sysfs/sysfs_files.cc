#include "probes/sysfs/sysfs_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/files/posix_file_system.h"

namespace galen::probes {
namespace {

// Reads what open(2) gave, with the path for errors: of the file, or of its directory and below
// that.
StatusOr<std::string> ReadAll(const Fd& fd, std::string_view directory, std::string_view file) {
  const auto path = [&] {
    return directory.empty() ? std::string(file) : fmt::format("{}/{}", directory, file);
  };
  const auto failed = [&](int error) { return ErrnoStatus(error, path()); };
  if (!fd) return failed(errno);
  // An attribute is a page at most: whole in one read, and nothing large is asked of the heap.
  std::array<char, 4096> page;
  std::string text;
  while (true) {
    const ssize_t count = ::read(fd.get(), page.data(), page.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    text.append(page.data(), static_cast<std::size_t>(count));
    if (text.size() > kSysfsFileBytesMax) {
      return ResourceExhausted("{}: more than {} bytes", path(), kSysfsFileBytesMax);
    }
    if (static_cast<std::size_t>(count) < page.size()) return text;
  }
}

}  // namespace

StatusOr<std::string> RealSysfs::Read(const std::string& path) const {
  if (const std::string node = NvmeNodeOf(path); !node.empty()) return ReadNvmeSmart(node);
  return ReadAll(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), "", path);
}

std::optional<SysfsDirectory> RealSysfs::Open(const std::string& path) const {
  SysfsDirectory directory{path, Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))};
  // With no descriptor to spare, the directory is there all the same.
  if (!directory.fd && !IsDirectory(path)) return std::nullopt;
  return directory;
}

StatusOr<std::string> RealSysfs::ReadIn(const SysfsDirectory& directory,
                                        const std::string& file) const {
  // No descriptor to go by, or a file that is not the kernel's.
  const bool by_path = !directory.fd || file.ends_with(kSmartFile.substr(1));
  if (by_path) return Read(directory.path + "/" + file);
  return ReadAll(Fd(::openat(directory.fd.get(), file.c_str(), O_RDONLY | O_CLOEXEC)),
                 directory.path, file);
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
