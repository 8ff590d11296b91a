// Where libFuzzer comes in; compiled once for each target, whose function GALEN_FUZZ_FUNCTION
// names. https://llvm.org/docs/LibFuzzer.html
#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.h"

namespace {

// An input has at most 8 KiB (./dev fuzz). What makes us hold two thousand times as much lets
// whoever sends it fill a node's memory. The largest legal buffers are of 8 MiB.
constexpr std::int64_t kHeldBytesMax = 16 << 20;

std::atomic<bool> running = false;
std::atomic<std::int64_t> held_bytes = 0;

// Called by AddressSanitizer's allocator, so nothing here may allocate.
void OnAllocated(const volatile void*, std::size_t size) {
  if (!running) return;
  if ((held_bytes += static_cast<std::int64_t>(size)) <= kHeldBytesMax) return;
  running = false;
  std::fputs("fuzz: this input makes us hold more than 16 MiB\n", stderr);
  std::abort();
}

void OnFreed(const volatile void* memory) {
  if (!running || memory == nullptr) return;
  // What was there before the input may make it less than nothing.
  held_bytes -=
      static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(memory)));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // 0 when there is no room for more such functions; then nothing would be bounded.
  if (__sanitizer_install_malloc_and_free_hooks(OnAllocated, OnFreed) == 0) std::abort();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  held_bytes = 0;
  running = true;
  // libFuzzer's first input is empty, with a null pointer.
  galen::fuzz::GALEN_FUZZ_FUNCTION({size == 0 ? "" : reinterpret_cast<const char*>(data), size});
  running = false;
  return 0;
}
