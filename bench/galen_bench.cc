// galen-bench: what Galen promises, measured on real processes of this build.
#include <string_view>

#include "bench/bench_app.h"
#include "bench/flooding_driver.h"
#include "bench/list_reader.h"
#include "bench/own_driver.h"

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == galen::bench::kOwnDriverMode) return galen::bench::RunOwnDriver(argc - 1, argv + 1);
  if (mode == galen::bench::kFloodingDriverMode) {
    return galen::bench::RunFloodingDriver(argc - 1, argv + 1);
  }
  if (mode == galen::bench::kListReaderMode) return galen::bench::RunListReader(argc - 1, argv + 1);
  return galen::bench::RunBench(argc, argv);
}
