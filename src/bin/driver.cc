// galen-driver: a DRA driver with device health, for simulated GPUs, network interfaces, NVIDIA
// GPUs, PCI devices and devices with files below /sys.
#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

#include "base/version.h"
#include "driver/driver_program.h"

namespace {

// A thread that hangs in a system call can neither be ended nor waited for.
void EndProcess(int code, std::string_view sentence) {
  if (!sentence.empty()) std::fputs(fmt::format("galen-driver: {}\n", sentence).c_str(), stderr);
  std::_Exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  using galen::device_driver::DriverConfig;
  // A device has a thread that reads its files and sleeps. By default glibc gives each thread a
  // heap of its own, up to eight for each processor, whose used pages stay resident.
  mallopt(M_ARENA_MAX, 1);
  galen::Flags flags("galen-driver", "A DRA driver that reports the health of its devices",
                     std::string(galen::kVersion));
  std::deque<DriverConfig> configs;  // one for each kind; never moved: its flags point into it
  for (const galen::device_driver::KindSpec& kind : galen::device_driver::Kinds()) {
    DriverConfig& config = configs.emplace_back();
    galen::Flags& command =
        flags.AddCommand(std::string(kind.name), std::string(kind.summary),
                         [&config] { return galen::device_driver::RunDriver(config, EndProcess); });
    galen::device_driver::AddFlags(command, kind, config);
    command.AddCheck([&config] { return galen::device_driver::CheckDriver(config); });
  }
  if (const auto code = flags.Parse(argc, argv)) return *code;
  return flags.Run();
}
