// A device that an active check computes on: the processor of this machine (CpuDevice) or a GPU
// (CudaDevice). Calls block and may hang for ever, so none is made on a loop; one thread at a time.
// Also the patterns that its memory is filled with and should still hold: a word for each place, so
// that neither side keeps a copy. These are pure; the kernels (kernels.ptx) compute the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace galen::active {

// How a pattern's words are made; numbers as the kernels have them.
enum class PatternKind : std::uint32_t {
  kRotated = 0,  // `argument`, rotated left by the place: ones and zeros walk, constants stay
  kAddress = 1,  // `argument` and eight times the place: a word that went elsewhere shows
  kRandom = 2,   // splitmix64 of the seed `argument` (Steele, Lea, Flood: "Fast Splittable
                 // Pseudorandom Number Generators", 2014)
};

// A pattern of one fill of memory, and what people call it.
struct Pattern {
  std::string name{};  // for people: "walking ones"
  PatternKind kind = PatternKind::kRotated;
  std::uint64_t argument = 0;
  std::uint64_t mask = 0;  // bits to flip: all ones for the inverse

  bool operator==(const Pattern&) const = default;
};

// The word at the place `index`, counted in words.
std::uint64_t PatternWord(const Pattern& pattern, std::uint64_t index);

// The finalizer of splitmix64: each bit of the answer depends on each of `value`.
std::uint64_t MixBits(std::uint64_t value);
// The step of splitmix64: 2^64 over the golden ratio.
inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15;

// The patterns of round `round`, in order. Walking bits take an eighth of their 64 steps in each
// round, so that eight rounds bring each to every place; what is random differs in each round.
std::vector<Pattern> PatternsOfRound(std::uint64_t seed, int round);

// An address in the device's own memory.
using Address = std::uint64_t;

// A run of 64-bit words; the first of them is the `first`th of its pattern.
struct Words {
  Address begin = 0;
  std::uint64_t count = 0;
  std::uint64_t first = 0;

  bool operator==(const Words&) const = default;
};

// How words differ from their pattern.
struct Mismatch {
  std::uint64_t count = 0;  // of words; 0: none, and the rest means nothing
  std::uint64_t first = 0;  // the place of the first wrong word in the pattern
  std::uint64_t bits = 0;   // the bits that are wrong in any word

  bool operator==(const Mismatch&) const = default;
};

// The numbers in a matrix: unsigned integers modulo 2^32, or IEEE 754 single precision.
enum class MatrixKind { kIntegers, kFloats };

// Numbers of 32 bits, row after row.
struct Matrices {
  Address left = 0, right = 0, product = 0;
  std::uint32_t size = 0;  // rows and columns of each

  bool operator==(const Matrices&) const = default;
};

// A device's memory and computation. Calls fail with DataLoss when the device itself says that its
// memory or a link is broken, ResourceExhausted when memory is not free, and Unavailable for any
// other error.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;

  // For people: "NVIDIA H100 80GB HBM3".
  virtual std::string Model() const = 0;
  virtual StatusOr<std::uint64_t> FreeBytes() = 0;
  // Whole pages, with any content; given back by Free, or with the device.
  virtual StatusOr<Address> Allocate(std::uint64_t bytes) = 0;
  virtual Status Free(Address begin) = 0;
  virtual Status Upload(std::span<const std::byte> bytes, Address to) = 0;
  virtual Status Download(Address from, std::span<std::byte> bytes) = 0;
  // Copies from the memory of `source`, which is a device of the same kind, and may be this one.
  virtual Status CopyFrom(ComputeDevice& source, Address from, Address to, std::uint64_t bytes) = 0;

  virtual Status Fill(const Words& words, const Pattern& pattern) = 0;
  // Reads all words and compares them with `pattern`.
  virtual StatusOr<Mismatch> Compare(const Words& words, const Pattern& pattern) = 0;
  virtual Status Multiply(MatrixKind kind, const Matrices& matrices) = 0;
  // The sum of MixBits((place + 1) * kGoldenStep + element) over 32-bit elements.
  virtual StatusOr<std::uint64_t> Checksum(Address elements, std::uint64_t count) = 0;
};

}  // namespace galen::active
