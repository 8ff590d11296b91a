#include "active/memory_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/text.h"

namespace galen::active {

std::string BitsText(std::uint64_t bits) {
  const int first = std::countr_zero(bits), count = std::popcount(bits);
  if (count == 1) return fmt::format("bit {}", first);
  if (count == 2) return fmt::format("bits {} and {}", first, 63 - std::countl_zero(bits));
  return fmt::format("{} bits", count);
}

StatusOr<MemoryCheck> MemoryCheck::Take(ComputeDevice& device, std::uint64_t bytes,
                                        CheckWatch& watch) {
  MemoryCheck check(device);
  const std::uint64_t wanted = bytes / kPageBytes * kPageBytes;
  while (check.bytes_ < wanted) {
    RETURN_IF_ERROR(watch.Continue("taking memory"));
    const std::uint64_t size = std::min(wanted - check.bytes_, kBlockBytesMax);
    const StatusOr<Address> block = device.Allocate(size);
    // Other programs may have taken memory meanwhile.
    if (block.status().code() == Code::kResourceExhausted && check.bytes_ > 0) break;
    if (!block.ok()) return block.status();
    for (std::uint64_t at = 0; at < size; at += kChunkBytes) {
      check.chunks_.push_back({.begin = *block + at,
                               .count = std::min(size - at, kChunkBytes) / 8,
                               .first = (check.bytes_ + at) / 8});
    }
    check.bytes_ += size;
  }
  if (check.bytes_ == 0) return ResourceExhausted("less than a page of memory may be tested");
  return check;
}

StatusOr<std::optional<Finding>> MemoryCheck::Run(const Pattern& pattern, CheckWatch& watch) {
  for (const Words& chunk : chunks_) {
    RETURN_IF_ERROR(watch.Continue(pattern.name));
    RETURN_IF_ERROR(device_->Fill(chunk, pattern));
  }
  std::optional<Words> place;
  Mismatch all;
  for (const Words& chunk : chunks_) {
    // A wrong word that was found is reported, even if there is no time to count the others.
    const Status more = watch.Continue(pattern.name);
    if (!more.ok() && !place) return more;
    if (!more.ok()) break;
    const StatusOr<Mismatch> wrong = device_->Compare(chunk, pattern);
    // Also reported if the next call fails, as it often does on a broken device.
    if (!wrong.ok() && !place) return wrong.status();
    if (!wrong.ok()) break;
    if (wrong->count == 0) continue;
    if (!place) {
      place = chunk;
      all = *wrong;
    } else {
      all.count += wrong->count;
    }
  }
  if (!place) return std::optional<Finding>();
  return std::optional(Describe(pattern, *place, all, bytes_ / 8));
}

Finding MemoryCheck::Describe(const Pattern& pattern, const Words& chunk, const Mismatch& wrong,
                              std::uint64_t count) {
  const Address address = chunk.begin + (wrong.first - chunk.first) * 8;
  std::array<std::byte, 8> bytes{};
  const bool read = device_->Download(address, bytes).ok();
  const std::uint64_t seen = std::bit_cast<std::uint64_t>(bytes);
  const std::uint64_t differs = read ? seen ^ PatternWord(pattern, wrong.first) : 0;
  // The second reading may be right, or fail; then all that is known is which bits were wrong at
  // the first.
  const std::string which = BitsText(differs != 0 ? differs : wrong.bits);
  return Finding{
      .code = std::string(kMemoryWrong),
      .message = fmt::format("Memory does not hold what was written ({}): {} of {}, the "
                             "first at {:#x} with {} wrong{}",
                             pattern.name, wrong.count, Counted(count, "word"), address, which,
                             differs != 0 ? ""
                             : read       ? ", right when read again"
                                          : ", not read again")};
}

}  // namespace galen::active
