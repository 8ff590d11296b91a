#include "probes/sysfs/sysfs_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/files/posix_file_system.h"

namespace galen::probes {

StatusOr<std::string> RealSysfs::Read(const std::string& path) const {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, path);
  std::string text(kSysfsFileBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, path);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kSysfsFileBytesMax) {
    return ResourceExhausted("{}: more than {} bytes", path, kSysfsFileBytesMax);
  }
  text.resize(size);
  return text;
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
