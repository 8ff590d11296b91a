// A processor that is broken where a test says so. For tests.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "active/cpu_device.h"
#include "base/files/posix_file_system.h"

namespace galen::active {

class TestDevice final : public ComputeDevice {
 public:
  std::uint64_t free_bytes = 1 << 20;
  std::uint64_t allocations_most = 100;     // further ones find no memory
  std::optional<std::uint64_t> stuck{};     // the bit 17 of this word of each block is always wrong
  bool reads_right_again = false;           // and right when it is read by itself
  std::optional<MatrixKind> miscomputes{};  // one element of its products is wrong
  bool loses_products = false;              // nothing is written
  Status fails{};                           // what Compare gives
  int compares_most = 1000;                 // it is lost after so many
  bool loses_reads = false;                 // Download fails
  bool flips_when_copied = false;           // what is copied to it arrives wrong
  std::function<void()> on_step = [] {};    // at each Fill

  std::string Model() const override { return "test device"; }
  StatusOr<std::uint64_t> FreeBytes() override { return free_bytes; }
  StatusOr<Address> Allocate(std::uint64_t bytes) override {
    if (sizes.size() >= allocations_most) return ResourceExhausted("no memory");
    sizes.push_back(bytes);
    return cpu_.Allocate(bytes);
  }
  Status Free(Address begin) override { return cpu_.Free(begin); }
  Status Upload(std::span<const std::byte> bytes, Address to) override {
    return cpu_.Upload(bytes, to);
  }
  Status Download(Address from, std::span<std::byte> bytes) override {
    if (loses_reads) return Unavailable("the device is lost");
    if (reads_right_again && stuck) Flip(from, 17);
    return cpu_.Download(from, bytes);
  }
  Status CopyFrom(ComputeDevice& source, Address from, Address to, std::uint64_t bytes) override {
    RETURN_IF_ERROR(cpu_.CopyFrom(source, from, to, bytes));
    if (flips_when_copied) Flip(to + 64, 3);
    return OkStatus();
  }
  Status Fill(const Words& words, const Pattern& pattern) override {
    on_step();
    RETURN_IF_ERROR(cpu_.Fill(words, pattern));
    if (stuck && *stuck < words.count) Flip(words.begin + *stuck * 8, 17);
    return OkStatus();
  }
  StatusOr<Mismatch> Compare(const Words& words, const Pattern& pattern) override {
    RETURN_IF_ERROR(fails);
    if (--compares_most < 0) return Unavailable("the device is lost");
    return cpu_.Compare(words, pattern);
  }
  Status Multiply(MatrixKind kind, const Matrices& matrices) override {
    if (loses_products) return OkStatus();
    RETURN_IF_ERROR(cpu_.Multiply(kind, matrices));
    if (miscomputes == kind) Flip(matrices.product + 8 * 130, 5);  // row 1, column 4
    return OkStatus();
  }
  StatusOr<std::uint64_t> Checksum(Address elements, std::uint64_t count) override {
    return cpu_.Checksum(elements, count);
  }

  std::vector<std::uint64_t> sizes;  // of all that was allocated

 private:
  static void Flip(Address word, int bit) {
    *reinterpret_cast<std::uint64_t*>(word) ^= std::uint64_t{1} << bit;
  }
  PosixFileSystem files_;
  CpuDevice cpu_{files_, {}};
};

}  // namespace galen::active
