#include "active/matrix_check.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "base/check.h"
#include "base/text.h"

namespace galen::active {
namespace {

constexpr std::uint64_t kElements = std::uint64_t{kMatrixSize} * kMatrixSize;
constexpr std::uint64_t kLeftSalt = 1, kRightSalt = 2;

std::string_view KindText(MatrixKind kind) {
  return kind == MatrixKind::kIntegers ? "integers" : "floating point numbers";
}

std::vector<std::uint32_t> Factor(MatrixKind kind, std::uint64_t salt) {
  std::vector<std::uint32_t> numbers(kElements);
  for (std::uint64_t i = 0; i < kElements; ++i) {
    const std::uint64_t mixed = MixBits(MixBits(salt) + i * kGoldenStep);
    numbers[i] = kind == MatrixKind::kIntegers
                     ? static_cast<std::uint32_t>(mixed)
                     : std::bit_cast<std::uint32_t>(static_cast<float>(mixed % 256));
  }
  return numbers;
}

std::uint64_t WholeOf(MatrixKind kind, std::uint32_t bits) {
  return kind == MatrixKind::kIntegers ? bits
                                       : static_cast<std::uint64_t>(std::bit_cast<float>(bits));
}

}  // namespace

std::vector<std::uint32_t> LeftFactor(MatrixKind kind) { return Factor(kind, kLeftSalt); }
std::vector<std::uint32_t> RightFactor(MatrixKind kind) { return Factor(kind, kRightSalt); }

std::vector<std::uint32_t> Product(MatrixKind kind) {
  const std::vector<std::uint32_t> left = LeftFactor(kind), right = RightFactor(kind);
  std::vector<std::uint32_t> product(kElements);
  for (std::size_t row = 0; row < kMatrixSize; ++row) {
    for (std::size_t column = 0; column < kMatrixSize; ++column) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < kMatrixSize; ++k) {
        sum += WholeOf(kind, left[row * kMatrixSize + k]) *
               WholeOf(kind, right[k * kMatrixSize + column]);
      }
      product[row * kMatrixSize + column] =
          kind == MatrixKind::kIntegers ? static_cast<std::uint32_t>(sum)
                                        : std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  }
  return product;
}

std::uint64_t ProductChecksum(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::kIntegers:
      return 0x5b4da279fe16a677;
    case MatrixKind::kFloats:
      return 0x18d6ccd1a8a662d8;
  }
  GALEN_UNREACHABLE();
}

StatusOr<MatrixCheck> MatrixCheck::Take(ComputeDevice& device, CheckWatch& watch) {
  MatrixCheck check(device);
  for (const MatrixKind kind : {MatrixKind::kIntegers, MatrixKind::kFloats}) {
    RETURN_IF_ERROR(watch.Continue("uploading matrices"));
    Matrices& matrices = check.Of(kind);
    matrices.size = kMatrixSize;
    for (Address* place : {&matrices.left, &matrices.right, &matrices.product}) {
      ASSIGN_OR_RETURN(*place, device.Allocate(kElements * 4));
    }
    const std::vector<std::uint32_t> left = LeftFactor(kind), right = RightFactor(kind);
    RETURN_IF_ERROR(device.Upload(std::as_bytes(std::span(left)), matrices.left));
    RETURN_IF_ERROR(device.Upload(std::as_bytes(std::span(right)), matrices.right));
  }
  return check;
}

StatusOr<std::optional<Finding>> MatrixCheck::Run(MatrixKind kind, CheckWatch& watch) {
  RETURN_IF_ERROR(watch.Continue(fmt::format("matrices of {}", KindText(kind))));
  const Matrices& matrices = Of(kind);
  // Cleared first: otherwise the previous product would pass for one that was never written.
  RETURN_IF_ERROR(device_->Fill({.begin = matrices.product, .count = kElements / 2},
                                {.name = "ones", .mask = ~std::uint64_t{0}}));
  RETURN_IF_ERROR(device_->Multiply(kind, matrices));
  ASSIGN_OR_RETURN(const std::uint64_t sum, device_->Checksum(matrices.product, kElements));
  if (sum == ProductChecksum(kind)) return std::optional<Finding>();
  return std::optional(Describe(kind));
}

Finding MatrixCheck::Describe(MatrixKind kind) {
  std::vector<std::uint32_t> seen(kElements);
  const Status read = device_->Download(Of(kind).product, std::as_writable_bytes(std::span(seen)));
  // A broken device most likely fails the next call, too: what was found stays.
  if (!read.ok()) {
    return {.code = std::string(kMatrixWrong),
            .message = fmt::format("A product of matrices of {} has a wrong checksum, and its "
                                   "elements cannot be read",
                                   KindText(kind))};
  }
  const std::vector<std::uint32_t> right = Product(kind);
  std::size_t count = 0, first = 0;
  for (std::size_t i = kElements; i-- > 0;) {
    if (seen[i] == right[i]) continue;
    ++count;
    first = i;
  }
  Finding finding{.code = std::string(kMatrixWrong)};
  finding.message =
      count == 0
          ? fmt::format("A product of matrices of {} has a wrong checksum, its elements are right",
                        KindText(kind))
          : fmt::format(
                "A product of matrices of {} is wrong: {} of {} elements, the first in "
                "row {}, column {} is {:#010x}, not {:#010x}",
                KindText(kind), count, kElements, first / kMatrixSize, first % kMatrixSize,
                seen[first], right[first]);
  return finding;
}

}  // namespace galen::active
