// The tables of rules that come with the program, as they are in rules/: put in at build time, so
// that no file need be installed. Constant; YAML for ParseRules, and tested to be free of faults.
#pragma once

#include <string_view>

namespace galen::probes {

// For the GPU driver and its simulator, and for network cards; an operator's own file takes the
// place of one.
extern const std::string_view kGpuRules;
extern const std::string_view kNicRules;

}  // namespace galen::probes
