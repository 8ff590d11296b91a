// An NVMe drive's own words on its health: log page 02h of the NVM Express base specification
// (SMART / health information), asked for by the kernel's ioctl of the controller's device node
// (linux/nvme_ioctl.h), which takes CAP_SYS_ADMIN.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "base/fd.h"
#include "probes/rules/rule.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {
namespace {

constexpr std::string_view kSysfs = "/sys/";
static_assert(kSmartFile.substr(1) == kNvmeSmartFile);

std::uint8_t Byte(std::string_view page, std::size_t at) {
  return static_cast<std::uint8_t>(page[at]);
}

// 16 bytes, the lowest first; what does not fit in 64 bits is the most that does.
std::uint64_t Counter(std::string_view page, std::size_t at) {
  std::uint64_t low = 0, high = 0;
  for (std::size_t i = 8; i-- > 0;) {
    low = low << 8 | Byte(page, at + i);
    high = high << 8 | Byte(page, at + 8 + i);
  }
  return high == 0 ? low : std::numeric_limits<std::uint64_t>::max();
}

// The page of the drive behind an open node; "": the drive has none.
StatusOr<std::string> AskForPage(const Fd& fd, const std::string& node) {
  constexpr std::uint8_t kGetLogPage = 0x02;
  constexpr std::uint32_t kSmartPage = 0x02, kWholeDrive = 0xffffffff;
  std::string page(kSmartPageBytes, '\0');
  struct nvme_passthru_cmd command = {};
  command.opcode = kGetLogPage;
  command.nsid = kWholeDrive;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = static_cast<std::uint32_t>(page.size());
  // How many words of four bytes are wanted, less one, beside the page's number.
  command.cdw10 = static_cast<std::uint32_t>(page.size() / 4 - 1) << 16 | kSmartPage;
  // No timeout of our own: the kernel resets a controller whose answer is late (nvme_timeout() of
  // drivers/nvme/host/pci.c), under everybody who uses the drive. The kernel's default is meant for
  // slow drives, and nobody waits for this thread longer than they like.
  command.timeout_ms = 0;
  const int result = ::ioctl(fd.get(), NVME_IOCTL_ADMIN_CMD, &command);
  if (result < 0) return ErrnoStatus(errno, node);
  if (result > 0) return Unavailable("{}: the drive refuses the page, status {:#x}", node, result);
  return page;
}

}  // namespace

std::string SmartText(std::string_view page) {
  if (page.size() < kSmartPageBytes) return "";
  return fmt::format(
      "critical_warning: {}\navailable_spare: {}\navailable_spare_threshold: {}\n"
      "percentage_used: {}\nmedia_errors: {}\n",
      Byte(page, 0), Byte(page, 3), Byte(page, 4), Byte(page, 5), Counter(page, 160));
}

std::string NvmeNodeOf(std::string_view path) {
  if (!path.starts_with(kSysfs) || !path.ends_with(kSmartFile)) return "";
  path.remove_suffix(kSmartFile.size());
  const std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kPrefix = "nvme";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return "";
  if (name.find_first_not_of("0123456789", kPrefix.size()) != std::string_view::npos) return "";
  return fmt::format("/dev/{}", name);
}

StatusOr<std::string> ReadNvmeSmart(const std::string& node) {
  // Never waits for a pipe that somebody put there.
  const Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, node);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, node);
  if (!S_ISCHR(status.st_mode)) return InvalidArgument("{}: is not a character device", node);
  ASSIGN_OR_RETURN(const std::string page, AskForPage(fd, node));
  return SmartText(page);
}

}  // namespace galen::probes
