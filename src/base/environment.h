// The process's environment, read in one place so that everything else takes what it needs as a
// value. Only main and the rooms' edges read it; tests hand in a map of their own. A value.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace galen {

// Names to values. A name that was set to "" is in the map with an empty value.
using Environment = std::map<std::string, std::string, std::less<>>;

// A copy of the process's environment as it is now. REQUIRES: no thread changes it meanwhile. Of a
// name that comes twice the first counts, as for getenv(3); lines without a name are left out.
Environment ReadEnvironment();

// The value of `name`, or nullopt when it is not set or empty: for every variable that we read,
// empty means the same as not set.
std::optional<std::string> Lookup(const Environment& environment, std::string_view name);

}  // namespace galen
