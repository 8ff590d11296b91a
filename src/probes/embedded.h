// The tables of rules that come with the program, as they are in rules/. Constant.
#pragma once

#include <string_view>

namespace galen::probes {

extern const std::string_view kGpuRules;
extern const std::string_view kNicRules;

}  // namespace galen::probes
