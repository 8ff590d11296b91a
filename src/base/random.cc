#include "base/random.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <string_view>

#include "base/check.h"

namespace galen {

std::uint64_t Random::Seed() {
  std::uint64_t seed = 0;
  // Up to 256 bytes are never given in part.
  GALEN_CHECK(::getrandom(&seed, sizeof(seed), 0) == sizeof(seed));
  return seed;
}

std::string Random::NameSuffix(int length) {
  // No vowels, and no digit that can be read as a letter.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < length; ++i) suffix += kLetters[Below(kLetters.size())];
  return suffix;
}

std::string Random::Uuid() {
  // The four bits of the version and the two of the variant; the other 122 are chance.
  constexpr std::uint64_t kVersion4 = 0x4000;
  constexpr std::uint64_t kVariant = 0x8000000000000000;
  const std::uint64_t high = (Next() & ~0xf000ULL) | kVersion4;
  const std::uint64_t low = (Next() & ~0xc000000000000000ULL) | kVariant;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffff);
}

}  // namespace galen
