// Ends the process when we ourselves are wrong. For the world's failures there is Status.
#pragma once

namespace galen {

// Writes the condition and its place to standard error, then aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace galen

#define GALEN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::galen::CheckFailed(#condition, __FILE__, __LINE__))
#define GALEN_UNREACHABLE() ::galen::CheckFailed("unreachable", __FILE__, __LINE__)
