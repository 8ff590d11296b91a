// FNV-1a, 64 bits (Fowler, Noll, Vo): the same on every machine, in every build and in every run,
// which std::hash does not promise. For names and seeds: who chooses the input can make two equal.
#pragma once

#include <cstdint>
#include <string_view>

namespace galen {

inline constexpr std::uint64_t kFnv1aStart = 0xcbf29ce484222325;

// Goes on from `hash`: Fnv1a("b", Fnv1a("a")) is Fnv1a("ab"). Who hashes several parts puts
// something between them, or ("ab","c") and ("a","bc") are the same.
constexpr std::uint64_t Fnv1a(std::string_view bytes, std::uint64_t hash = kFnv1aStart) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace galen
