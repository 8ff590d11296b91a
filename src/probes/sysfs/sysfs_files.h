// Files below /sys, as the drivers of devices give them. A read runs a driver's code, which may ask
// the hardware and hang with it: the real files block as long as they please, pipes included.
// Without state; safe from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/status.h"

namespace galen::probes {

// A directory whose files are read one after the other. Held for one look: a device that comes back
// has another one.
struct SysfsDirectory {
  std::string path{};
  Fd fd{};  // where it is open, the way to its files is not walked again for each; may be empty
};

class SysfsFiles {
 public:
  constexpr virtual ~SysfsFiles() = default;
  // Up to kSysfsFileBytesMax of the file. NotFound when there is none; other errors say why the
  // kernel refused.
  virtual StatusOr<std::string> Read(const std::string& path) const = 0;
  // Names in order, without "." and ".."; NotFound when there is no such directory.
  virtual StatusOr<std::vector<std::string>> List(const std::string& directory) const = 0;
  virtual bool IsDirectory(const std::string& path) const = 0;
  // nullopt where IsDirectory says no.
  virtual std::optional<SysfsDirectory> Open(const std::string& path) const {
    return IsDirectory(path) ? std::optional(SysfsDirectory{path}) : std::nullopt;
  }
  // Read() of a file below the directory.
  virtual StatusOr<std::string> ReadIn(const SysfsDirectory& directory,
                                       const std::string& file) const {
    return Read(directory.path + "/" + file);
  }
  // The path without links; "" when there is nothing.
  virtual std::string Resolve(const std::string& path) const = 0;
};

// An attribute of sysfs has at most a page; a longer file is not one.
inline constexpr std::size_t kSysfsFileBytesMax = 64UL * 1024;

// A file of NVMe controllers that is not the kernel's: "/sys/class/nvme/nvme0/@nvme-smart" is
// what the drive itself says of its health, a line for each number. Below another root than /sys it
// is a file like any other.
inline constexpr std::string_view kSmartFile = "/@nvme-smart";
// The log page that the drive gives, and its numbers as such lines; "" of a page that is too short.
inline constexpr std::size_t kSmartPageBytes = 512;
std::string SmartText(std::string_view page);
// The device node to ask for the file of this path: "/dev/nvme0"; "" of any other path.
std::string NvmeNodeOf(std::string_view path);
// Asks the drive. NotFound where there is no node; PermissionDenied without the right to ask.
StatusOr<std::string> ReadNvmeSmart(const std::string& node);

// The kernel's files.
class RealSysfs final : public SysfsFiles {
 public:
  // GCC 12 lets no constant have a destructor of this kind that is defaulted.
  constexpr ~RealSysfs() override {}
  StatusOr<std::string> Read(const std::string& path) const override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) const override;
  bool IsDirectory(const std::string& path) const override;
  std::optional<SysfsDirectory> Open(const std::string& path) const override;
  StatusOr<std::string> ReadIn(const SysfsDirectory& directory,
                               const std::string& file) const override;
  std::string Resolve(const std::string& path) const override;
};

// For threads that may hang in a read: it is there for as long as the process is.
inline constexpr RealSysfs kRealSysfs;

}  // namespace galen::probes
