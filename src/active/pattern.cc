#include <bit>

#include "active/compute_device.h"
#include "base/check.h"

namespace galen::active {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
constexpr int kWalkingStride = 8;

}  // namespace

std::uint64_t MixBits(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

std::uint64_t PatternWord(const Pattern& pattern, std::uint64_t index) {
  switch (pattern.kind) {
    case PatternKind::kRotated:
      return std::rotl(pattern.argument, static_cast<int>(index % 64)) ^ pattern.mask;
    case PatternKind::kAddress:
      return (pattern.argument + index * 8) ^ pattern.mask;
    case PatternKind::kRandom:
      return MixBits(pattern.argument + (index + 1) * kGoldenStep) ^ pattern.mask;
  }
  GALEN_UNREACHABLE();
}

std::vector<Pattern> PatternsOfRound(std::uint64_t seed, int round) {
  const std::uint64_t random = MixBits(seed + static_cast<std::uint64_t>(round));
  std::vector<Pattern> patterns = {
      {.name = "zeros"},
      {.name = "ones", .mask = kAllOnes},
      {.name = "checkerboard", .argument = 0x5555555555555555},
      {.name = "checkerboard, inverted", .argument = 0x5555555555555555, .mask = kAllOnes},
      {.name = "address in address", .kind = PatternKind::kAddress},
      {.name = "address in address, inverted", .kind = PatternKind::kAddress, .mask = kAllOnes},
      {.name = "random", .kind = PatternKind::kRandom, .argument = random},
      {.name = "random, inverted",
       .kind = PatternKind::kRandom,
       .argument = random,
       .mask = kAllOnes},
  };
  for (int bit = round % kWalkingStride; bit < 64; bit += kWalkingStride) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    patterns.push_back({.name = "walking ones", .argument = one});
    patterns.push_back({.name = "walking zeros", .argument = one, .mask = kAllOnes});
  }
  return patterns;
}

}  // namespace galen::active
