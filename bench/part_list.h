// Everything that can be measured, by the name that people call it. Free of threads.
#pragma once

#include <string>
#include <vector>

#include "bench/parts.h"

namespace galen::bench {

// One thing to measure, with the name that people call it by.
struct Part {
  std::string name;
  StatusOr<std::vector<Figure>> (*measure)(Bench&);
  std::string explanation;  // for the page of the figures
};

// In the order in which they are measured.
const std::vector<Part>& Parts();
// "latency, flood, …"
std::string PartNames();

}  // namespace galen::bench
