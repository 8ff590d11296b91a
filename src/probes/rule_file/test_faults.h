// Faults of rules files as most tests want them: which line, whatever the column.
#pragma once

#include <regex>
#include <string>

namespace galen::probes {

// "r.yaml:12:5: hot: …" → "r.yaml:12: hot: …", of each line.
inline std::string WithoutColumns(const std::string& faults) {
  return std::regex_replace(faults, std::regex("(yaml:[0-9]+):[0-9]+: "), "$1: ");
}

}  // namespace galen::probes
