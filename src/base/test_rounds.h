// How often a test plays what chance or a list of cases gives it.
#pragma once

#include <cstdint>

namespace galen {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// `full`, or `fewer` under a sanitizer, which makes each round ten times as long: it looks for what
// every round's code does to memory, not for the one round in which its result is wrong.
constexpr std::uint64_t Rounds(std::uint64_t full, std::uint64_t fewer) {
  return kSanitized ? fewer : full;
}

}  // namespace galen
