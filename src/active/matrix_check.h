// Checks whether a device multiplies right: matrices of fixed numbers, so made that each sum is
// exact, whose product has a known checksum.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "active/check_watch.h"
#include "active/compute_device.h"
#include "active/finding.h"
#include "base/status.h"

namespace galen::active {

inline constexpr std::string_view kMatrixWrong = "MatrixMismatch";
inline constexpr std::uint32_t kMatrixSize = 256;

// The numbers of both factors as their bits. Floats are whole numbers of 0 to 255: 256 products of
// two are below 2^24, so that single precision holds each sum exactly, in whatever order it adds.
std::vector<std::uint32_t> LeftFactor(MatrixKind kind);
std::vector<std::uint32_t> RightFactor(MatrixKind kind);
// Their product, computed here in 64-bit integers.
std::vector<std::uint32_t> Product(MatrixKind kind);
// What ComputeDevice::Checksum gives for that product. A constant, so that a processor that
// computes wrong does not agree with itself.
std::uint64_t ProductChecksum(MatrixKind kind);

// Runs on the check's thread. The device outlives it.
class MatrixCheck {
 public:
  static StatusOr<MatrixCheck> Take(ComputeDevice& device, CheckWatch& watch);

  // Multiplies once and compares. An error: the check could not be made, or was stopped.
  StatusOr<std::optional<Finding>> Run(MatrixKind kind, CheckWatch& watch);

 private:
  explicit MatrixCheck(ComputeDevice& device) : device_(&device) {}
  Matrices& Of(MatrixKind kind) { return kind == MatrixKind::kIntegers ? integers_ : floats_; }
  Finding Describe(MatrixKind kind);

  ComputeDevice* device_;
  Matrices integers_, floats_;
};

}  // namespace galen::active
