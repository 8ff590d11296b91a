// One record of the kernel's log as /dev/kmsg gives it: "6,339,5140900,-;text" and lines of
// properties below it (https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace galen::probes {

// Facilities are syslog's (RFC 5424): what the kernel itself said, and what a process wrote into
// /dev/kmsg.
inline constexpr int kFacilityKernel = 0;
inline constexpr int kFacilityUser = 1;  // what root writes into /dev/kmsg

struct KernelRecord {
  int level = 0;     // 0 is an emergency, 7 debugging
  int facility = 0;  // who wrote it
  // Rises by one with each record of a boot and never falls: what makes "exactly once" possible.
  std::uint64_t sequence = 0;
  Duration since_boot{};  // by the kernel's own clock, which is not ours
  std::string text{};     // valid UTF-8, one line
  std::map<std::string, std::string, std::less<>> properties{};  // {"DEVICE", "+pci:0000:4b:00.0"}

  bool operator==(const KernelRecord&) const = default;
};

// Kernels compose a record in a buffer of at most this size (CONSOLE_EXT_LOG_MAX of printk); a
// longer one was not written by a kernel.
inline constexpr std::size_t kKernelRecordBytesMax = 8192;

// InvalidArgument says what is not as the kernel writes it.
StatusOr<KernelRecord> ParseKernelRecord(std::string_view bytes);

}  // namespace galen::probes
