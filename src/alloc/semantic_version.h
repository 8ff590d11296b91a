// A version by semver.org 2.0.0. A value. Build metadata is kept in the text and ignored in every
// comparison.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::alloc {

struct SemanticVersion {
  std::string text;  // as written
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> pre_release = {};  // "rc.1" is {"rc", "1"}; empty: a release

  // By precedence, semver 11.
  bool operator==(const SemanticVersion& other) const;
  std::strong_ordering operator<=>(const SemanticVersion& other) const;
};

// InvalidArgument, with the text, unless it is strictly semver 2.0.0.
StatusOr<SemanticVersion> ParseSemanticVersion(std::string_view text);
// The same, after what semver(text, true) of Kubernetes' CEL library allows is mended: a leading
// "v", leading zeros, a missing minor or patch number.
StatusOr<SemanticVersion> ParseLenientVersion(std::string_view text);

}  // namespace galen::alloc
