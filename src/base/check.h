// Ends the process when we ourselves are wrong. For the world's failures there is Status: nothing
// that a peer, a file or a person can cause may reach a check. Checks stay on in release builds.
// May be used from any thread.
#pragma once

namespace galen {

// Writes the condition and its place to standard error, then aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace galen

// Evaluates `condition` once. REQUIRES in a comment means that a check like this guards it, or that
// the caller is trusted to keep it. Prints the file's name without its directories, so that the
// program is the same wherever it was built.
#define GALEN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::galen::CheckFailed(#condition, __FILE_NAME__, __LINE__))
// After a switch over all values of an enum, which has no default so that a new value breaks the
// build where it matters.
#define GALEN_UNREACHABLE() ::galen::CheckFailed("unreachable", __FILE_NAME__, __LINE__)
