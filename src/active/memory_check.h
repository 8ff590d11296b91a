// Checks whether memory holds what is written to it: filled with a pattern as a whole, then read as
// a whole, so that what is read comes from the memory and not from a cache.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "active/check_watch.h"
#include "active/compute_device.h"
#include "active/finding.h"
#include "base/status.h"

namespace galen::active {

inline constexpr std::string_view kMemoryWrong = "MemoryMismatch";

// Runs on the check's thread.
class MemoryCheck {
 public:
  // The size of a block. Blocks are allocated one by one, until there are enough or one is refused.
  static constexpr std::uint64_t kBlockBytesMax = std::uint64_t{1} << 30;
  // Bytes between two looks at the watch: few enough that a check stops soon, also on a processor.
  static constexpr std::uint64_t kChunkBytes = std::uint64_t{64} << 20;
  // Memory is taken in multiples of this.
  static constexpr std::uint64_t kPageBytes = 4096;

  // Takes `bytes` of the device's memory, or as much as is free. ResourceExhausted: not one page.
  // The device outlives the check.
  static StatusOr<MemoryCheck> Take(ComputeDevice& device, std::uint64_t bytes, CheckWatch& watch);

  // Fills all of it and compares. An error: the check could not be made, or was stopped.
  StatusOr<std::optional<Finding>> Run(const Pattern& pattern, CheckWatch& watch);
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit MemoryCheck(ComputeDevice& device) : device_(&device) {}
  // The finding for `chunk`, whose words are `wrong`; `count` words were tested.
  Finding Describe(const Pattern& pattern, const Words& chunk, const Mismatch& wrong,
                   std::uint64_t count);

  ComputeDevice* device_;
  std::vector<Words> chunks_;
  std::uint64_t bytes_ = 0;
};

// "bit 17", "bits 3 and 17", "12 bits" of a 64-bit word; REQUIRES: not zero.
std::string BitsText(std::uint64_t bits);

}  // namespace galen::active
