#include "probes/sysfs/sysfs_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/files/posix_file_system.h"

namespace galen::probes {

StatusOr<std::string> RealSysfs::Read(const std::string& path) const {
  if (const std::string node = NvmeNodeOf(path); !node.empty()) return ReadNvmeSmart(node);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, path);
  // An attribute is a page at most: whole in one read, and nothing large is asked of the heap.
  std::array<char, 4096> page;
  std::string text;
  while (true) {
    const ssize_t count = ::read(fd.get(), page.data(), page.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, path);
    text.append(page.data(), static_cast<std::size_t>(count));
    if (text.size() > kSysfsFileBytesMax) {
      return ResourceExhausted("{}: more than {} bytes", path, kSysfsFileBytesMax);
    }
    if (static_cast<std::size_t>(count) < page.size()) return text;
  }
}

StatusOr<std::vector<std::string>> RealSysfs::List(const std::string& directory) const {
  return PosixFileSystem().List(directory);
}

bool RealSysfs::IsDirectory(const std::string& path) const {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string RealSysfs::Resolve(const std::string& path) const {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? "" : real.string();
}

}  // namespace galen::probes
