// What memory is filled with and should still hold: a word for each place, so that neither side
// keeps a copy. Values; pure. The kernels (kernels.ptx) compute the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace galen::active {

// Numbers as the kernels have them.
enum class PatternKind : std::uint32_t {
  kRotated = 0,  // `argument`, rotated left by the place: ones and zeros walk, constants stay
  kAddress = 1,  // `argument` and eight times the place: a word that went elsewhere shows
  kRandom = 2,   // splitmix64 of the seed `argument` (Steele, Lea, Flood: "Fast Splittable
                 // Pseudorandom Number Generators", 2014)
};

struct Pattern {
  std::string name{};  // for people: "walking ones"
  PatternKind kind = PatternKind::kRotated;
  std::uint64_t argument = 0;
  std::uint64_t mask = 0;  // is flipped: all ones for the inverse

  bool operator==(const Pattern&) const = default;
};

// The word at the place `index`, counted in words.
std::uint64_t PatternWord(const Pattern& pattern, std::uint64_t index);

// The finalizer of splitmix64: each bit of the answer depends on each of `value`.
std::uint64_t MixBits(std::uint64_t value);
// What splitmix64 adds at each step: 2^64 over the golden ratio.
inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15;

// The patterns of round `round`, in order. Walking bits take an eighth of their 64 steps in each
// round, so that eight rounds bring each to every place; what is random differs in each round.
std::vector<Pattern> PatternsOfRound(std::uint64_t seed, int round);

}  // namespace galen::active
