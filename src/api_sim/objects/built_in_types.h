// The schemas of the built-in kinds. Pure; free of threads.
#pragma once

#include <memory>
#include <string_view>

#include "base/data/json.h"

namespace galen::api_sim {

// The structural schema of a whole object, with list types and defaults, in the form in which
// CustomResourceDefinitions give theirs. Made once and shared. REQUIRES: a kind of
// built_in_kinds.cc.
std::shared_ptr<const Json> BuiltInSchema(std::string_view kind);

}  // namespace galen::api_sim
