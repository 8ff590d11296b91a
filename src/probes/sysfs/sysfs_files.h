// Files below /sys, as the drivers of devices give them. A read runs a driver's code, which may ask
// the hardware and hang with it: the real files block as long as they please, pipes included.
// Without state; safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"

namespace galen::probes {

// A directory whose files are read one after the other, look after look.
struct SysfsDirectory {
  std::string path{};
  // So many files stay open from one look to the next: to open and close a file of the kernel's
  // costs three times as much as to read it. Each costs a descriptor and about 4 KiB of the kernel.
  std::size_t keep_open = 0;
  Fd fd{};  // where it is open, the way to its files is not walked again for each; may be empty
  // What distinguishes it from another directory of that path, or from itself after a file came or
  // went.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t changed_ns = 0;

    bool operator==(const Identity&) const = default;
  };
  std::optional<Identity> identity{};
  // The same at this look as at the one before. A change that the file system's clock cannot
  // distinguish from the one before is long past then, so files may be kept.
  bool settled = false;
  std::map<std::string, Fd> kept{};  // an empty one: cannot be kept, do not try again
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
  // For a look at the directory of this path, with what an earlier look has left open; nullopt
  // where IsDirectory says no. A device that comes back has another directory.
  virtual std::optional<SysfsDirectory> Open(SysfsDirectory last) const {
    return IsDirectory(last.path) ? std::optional(std::move(last)) : std::nullopt;
  }
  // Read() of a file below the directory.
  virtual StatusOr<std::string> ReadIn(SysfsDirectory& directory, const std::string& file) const {
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
  std::optional<SysfsDirectory> Open(SysfsDirectory last) const override;
  StatusOr<std::string> ReadIn(SysfsDirectory& directory, const std::string& file) const override;
  std::string Resolve(const std::string& path) const override;
};

// How many files may stay open between looks: 2048, but at most half of what this process may open.
std::size_t FilesToKeepOpen();

// For threads that may hang in a read: it is there for as long as the process is.
inline constexpr RealSysfs kRealSysfs;

}  // namespace galen::probes
