// A fault that a check found.
#pragma once

#include <string>

namespace galen::active {

// Becomes a cause of health: a code for programs, one sentence for people.
struct Finding {
  std::string code{};
  std::string message{};

  bool operator==(const Finding&) const = default;
};

}  // namespace galen::active
