// How often this program asked for memory, counted in place of the library's operator new.
#pragma once

#include <cstdint>

namespace galen::bench {

// Counted over all threads, since the program began.
std::uint64_t AllocationsSoFar();

}  // namespace galen::bench
