// Where libFuzzer comes in; compiled once for each target, whose function GALEN_FUZZ_FUNCTION
// names. https://llvm.org/docs/LibFuzzer.html
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // libFuzzer's first input is empty, with a null pointer.
  galen::fuzz::GALEN_FUZZ_FUNCTION({size == 0 ? "" : reinterpret_cast<const char*>(data), size});
  return 0;
}
