// The version of all programs; CMake's project() names it, so that there is one place.
#pragma once

#include <string_view>

namespace galen {

inline constexpr std::string_view kVersion = GALEN_VERSION;

}  // namespace galen
