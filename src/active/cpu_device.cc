#include "active/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

namespace galen::active {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

template <typename T>
T* At(Address address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

std::optional<std::uint64_t> NumberIn(std::string_view text) {
  text = Trimmed(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> NumberOfFile(FileSystem& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  return text.ok() ? NumberIn(*text) : std::nullopt;
}

template <typename T>
void MultiplyRows(const Matrices& matrices) {
  const std::size_t n = matrices.size;
  const T* left = At<const T>(matrices.left);
  const T* right = At<const T>(matrices.right);
  T* product = At<T>(matrices.product);
  for (std::size_t row = 0; row < n; ++row) {
    T* sums = product + row * n;
    std::fill(sums, sums + n, T{});
    for (std::size_t k = 0; k < n; ++k) {
      const T factor = left[row * n + k];
      for (std::size_t column = 0; column < n; ++column) {
        sums[column] += factor * right[k * n + column];
      }
    }
  }
}

}  // namespace

CpuDevice::CpuDevice(FileSystem& files, Places places)
    : files_(files), places_(std::move(places)) {}

CpuDevice::~CpuDevice() {
  for (const auto& [begin, bytes] : blocks_) ::munmap(At<void>(begin), bytes);
}

StatusOr<std::uint64_t> CpuDevice::FreeBytes() {
  ASSIGN_OR_RETURN(const std::string meminfo, files_.Read(places_.meminfo));
  constexpr std::string_view kAvailable = "MemAvailable:";
  const std::size_t line = meminfo.find(kAvailable);
  const auto kibibytes =
      line == std::string::npos
          ? std::nullopt
          : NumberIn(std::string_view(meminfo).substr(line + kAvailable.size(), 64));
  if (!kibibytes) return Unavailable("{} has no line MemAvailable (Linux 3.14)", places_.meminfo);
  const std::uint64_t available = *kibibytes * kKibibyte;
  // "max" is not a number: then only the machine is a bound.
  const auto bound = NumberOfFile(files_, places_.cgroup + "/memory.max");
  const auto used = NumberOfFile(files_, places_.cgroup + "/memory.current");
  if (!bound || !used) return available;
  return std::min(available, *bound > *used ? *bound - *used : 0);
}

StatusOr<Address> CpuDevice::Allocate(std::uint64_t bytes) {
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return ErrnoStatus(errno, fmt::format("take {} bytes of memory", bytes));
  const Address begin = reinterpret_cast<std::uintptr_t>(block);
  blocks_[begin] = bytes;
  return begin;
}

Status CpuDevice::Free(Address begin) {
  const auto block = blocks_.find(begin);
  GALEN_CHECK(block != blocks_.end());
  ::munmap(At<void>(begin), block->second);
  blocks_.erase(block);
  return OkStatus();
}

Status CpuDevice::Upload(std::span<const std::byte> bytes, Address to) {
  std::memcpy(At<void>(to), bytes.data(), bytes.size());
  return OkStatus();
}

Status CpuDevice::Download(Address from, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), At<const void>(from), bytes.size());
  return OkStatus();
}

Status CpuDevice::CopyFrom(ComputeDevice& source, Address from, Address to, std::uint64_t bytes) {
  return source.Download(from, {At<std::byte>(to), bytes});
}

Status CpuDevice::Fill(const Words& words, const Pattern& pattern) {
  std::uint64_t* at = At<std::uint64_t>(words.begin);
  for (std::uint64_t i = 0; i < words.count; ++i) at[i] = PatternWord(pattern, words.first + i);
  return OkStatus();
}

StatusOr<Mismatch> CpuDevice::Compare(const Words& words, const Pattern& pattern) {
  // Volatile: the memory is asked, not what the compiler knows of it.
  const volatile std::uint64_t* at = At<const volatile std::uint64_t>(words.begin);
  Mismatch found;
  for (std::uint64_t i = 0; i < words.count; ++i) {
    const std::uint64_t wrong = at[i] ^ PatternWord(pattern, words.first + i);
    if (wrong == 0) continue;
    if (found.count++ == 0) found.first = words.first + i;
    found.bits |= wrong;
  }
  return found;
}

Status CpuDevice::Multiply(MatrixKind kind, const Matrices& matrices) {
  switch (kind) {
    case MatrixKind::kIntegers:
      MultiplyRows<std::uint32_t>(matrices);
      return OkStatus();
    case MatrixKind::kFloats:
      MultiplyRows<float>(matrices);
      return OkStatus();
  }
  GALEN_UNREACHABLE();
}

StatusOr<std::uint64_t> CpuDevice::Checksum(Address elements, std::uint64_t count) {
  const volatile std::uint32_t* at = At<const volatile std::uint32_t>(elements);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += MixBits((i + 1) * kGoldenStep + at[i]);
  return sum;
}

}  // namespace galen::active
