// Paths as texts: nothing is looked up. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace galen {

// The directory that an entry of the name `path` lies in: "/run/a.sock" → "/run", "/a" → "/",
// "a" → ".". A slash at the end names an entry without a name: "/run/" → "/run".
std::string ParentOf(std::string_view path);

}  // namespace galen
