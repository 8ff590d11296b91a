// galen-driver: a DRA driver with device health, for simulated GPUs, network interfaces, NVIDIA
// GPUs, PCI devices and whatever has files below /sys.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/version.h"
#include "driver/driver_program.h"

namespace {

// Threads that hang in a call of the kernel can be neither ended nor waited for.
void EndProcess(int code, std::string_view sentence) {
  if (!sentence.empty()) fmt::print(stderr, "galen-driver: {}\n", sentence);
  std::_Exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  using galen::device_driver::Kind;
  galen::Flags flags("galen-driver", "A DRA driver that reports the health of its devices",
                     std::string(galen::kVersion));
  galen::device_driver::DriverConfig gpu, nic, nvidia, pci, sysfs;
  gpu.driver.name = "gpu.example.com";
  nic.driver.name = "nic.example.com";
  nvidia.driver.name = "nvidia.example.com";
  pci.driver.name = "pci.example.com";
  sysfs.driver.name = "sysfs.example.com";
  galen::Flags& gpu_flags =
      flags.AddCommand("gpu", "simulated GPUs, and what the kernel's log says of them",
                       [&gpu] { return galen::device_driver::RunDriver(gpu, EndProcess); });
  galen::Flags& nic_flags = flags.AddCommand("nic", "network interfaces of this machine", [&nic] {
    return galen::device_driver::RunDriver(nic, EndProcess);
  });
  galen::Flags& nvidia_flags =
      flags.AddCommand("nvidia", "NVIDIA GPUs of this machine, looked at by NVML",
                       [&nvidia] { return galen::device_driver::RunDriver(nvidia, EndProcess); });
  galen::Flags& pci_flags = flags.AddCommand("pci", "PCI devices of this machine", [&pci] {
    return galen::device_driver::RunDriver(pci, EndProcess);
  });
  galen::Flags& sysfs_flags =
      flags.AddCommand("sysfs", "devices that are directories below /sys, by rules of yours",
                       [&sysfs] { return galen::device_driver::RunDriver(sysfs, EndProcess); });
  galen::device_driver::AddFlags(gpu_flags, Kind::kGpu, gpu);
  galen::device_driver::AddFlags(nic_flags, Kind::kNic, nic);
  galen::device_driver::AddFlags(nvidia_flags, Kind::kNvidia, nvidia);
  galen::device_driver::AddFlags(pci_flags, Kind::kPci, pci);
  galen::device_driver::AddFlags(sysfs_flags, Kind::kSysfs, sysfs);
  gpu_flags.AddCheck([&gpu] { return galen::device_driver::CheckDriver(gpu); });
  nic_flags.AddCheck([&nic] { return galen::device_driver::CheckDriver(nic); });
  nvidia_flags.AddCheck([&nvidia] { return galen::device_driver::CheckDriver(nvidia); });
  pci_flags.AddCheck([&pci] { return galen::device_driver::CheckDriver(pci); });
  sysfs_flags.AddCheck([&sysfs] { return galen::device_driver::CheckDriver(sysfs); });
  if (const auto code = flags.Parse(argc, argv)) return *code;
  return flags.Run();
}
