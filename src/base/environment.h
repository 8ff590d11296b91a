// The process's environment, read in one place so that everything else takes what it needs.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace galen {

using Environment = std::map<std::string, std::string, std::less<>>;

// A copy of what the process was started with.
Environment ReadEnvironment();

// The value of `name`, or nullopt when it is not set or empty.
std::optional<std::string> Lookup(const Environment& environment, std::string_view name);

}  // namespace galen
