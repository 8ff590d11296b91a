#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "driver/driver_config.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/pci_device.h"

namespace galen::device_driver {
namespace {

// A path that stays below sysfs's root, with at most one star a segment, as FindPaths allows.
bool IsPattern(std::string_view pattern) {
  if (pattern.empty() || pattern.front() == '/') return false;
  while (!pattern.empty()) {
    const std::string_view segment = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(std::min(segment.size() + 1, pattern.size()));
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (std::ranges::count(segment, '*') > 1) return false;
  }
  return true;
}

void AddGpuFlags(Flags& flags, DriverConfig& config) {
  flags.Add("--devices", config.devices, "how many GPUs to simulate, up to 4096");
  flags.AddSwitch("--shared", config.shared,
                  "let claims share a GPU, each with the memory it asks for");
  flags.Add("--kernel-log", config.kernel_log,
            "also read this log, e.g. /dev/kmsg, for faults of the simulated GPUs' PCI addresses");
}

void AddNicFlags(Flags& flags, DriverConfig& config) {
  flags.Add("--interfaces", config.interfaces,
            "which interfaces are devices, by shell pattern, e.g. 'eth*'; may be repeated");
  flags.Add("--sysfs-root", config.sysfs_root, "where sysfs is mounted");
  flags.Add("--network-namespace", config.network_namespace,
            "watch the links of this namespace, e.g. /proc/1/ns/net from inside a container; "
            "goes with --sysfs-root /proc/1/root/sys");
}

void AddNvidiaFlags(Flags& flags, DriverConfig& config) {
  flags.Add("--nvml", config.nvml,
            "NVIDIA's management library; libnvidia-ml.so.1 below --driver-root, or where the "
            "dynamic linker finds it, unless given");
  flags.Add("--driver-root", config.driver_root,
            "where NVIDIA's driver is installed, as this process sees it");
  flags.Add("--host-driver-root", config.host_driver_root,
            "the same directory by the host's path, for CDI files; --driver-root unless given");
  flags.Add("--sysfs-root", config.sysfs_root, "where sysfs is mounted");
  flags.Add("--proc-root", config.proc_root,
            "where proc is mounted; NVIDIA's kernel module shows itself below driver/nvidia");
  flags.Add("--kernel-log", config.kernel_log,
            "also read this log, e.g. /dev/kmsg: XIDs, lost GPUs and PCIe errors by address");
}

void AddPciFlags(Flags& flags, DriverConfig& config) {
  flags.Add("--select", config.selections,
            "which devices: vendor (10de), model (10de:2330), class (class:0302) or address "
            "(0000:4b:00.0); may be repeated");
  flags.Add("--kernel-log", config.kernel_log,
            "also read this log, e.g. /dev/kmsg, for PCIe errors that the kernel logs of them");
  flags.Add("--sysfs-root", config.sysfs_root, "where sysfs is mounted");
}

void AddSysfsFlags(Flags& flags, DriverConfig& config) {
  flags.Add("--kernel-log", config.kernel_log,
            "also read this log, e.g. /dev/kmsg, for lines of the table about NVMe drives");
  flags.Add("--pattern", config.patterns,
            "which directories below /sys are devices, e.g. 'devices/system/edac/mc/mc*'; may "
            "be repeated");
  flags.Add("--sysfs-root", config.sysfs_root, "where sysfs is mounted");
}

// The required flags of each kind. There are no defaults: taking every interface or device would
// offer the node's own to Pods.
void ValidateGpu(const DriverConfig&, const AddFault&) {}

void ValidateNic(const DriverConfig& config, const AddFault& add) {
  if (!config.interfaces.empty()) return;
  add("--interfaces is missing: say which interfaces are devices, e.g. --interfaces 'eth*'");
}

void ValidateNvidia(const DriverConfig& config, const AddFault& add) {
  if (!config.driver_root.starts_with('/')) add("--driver-root must be an absolute path");
  if (!config.host_driver_root.empty() && !config.host_driver_root.starts_with('/')) {
    add("--host-driver-root must be an absolute path");
  }
}

void ValidatePci(const DriverConfig& config, const AddFault& add) {
  if (config.selections.empty())
    add("--select is missing: say which devices, e.g. --select 10de or --select class:0302");
  for (const std::string& text : config.selections) {
    const Status status = probes::ParsePciSelection(text).status();
    if (!status.ok()) add("--select: " + status.message());
  }
}

void ValidateSysfs(const DriverConfig& config, const AddFault& add) {
  if (config.patterns.empty()) {
    add("--pattern is missing: say which directories are devices, e.g. --pattern "
        "'devices/system/edac/mc/mc*'");
  }
  for (const std::string& pattern : config.patterns) {
    if (IsPattern(pattern)) continue;
    add(fmt::format("--pattern: '{}' is no path below /sys with at most one '*' a name", pattern));
  }
  if (config.rules_path.empty()) {
    add("--rules is missing: say which files of such a device mean what");
  }
}

// Each kind is a row here, a value of Kind, and code in driver_program.cc that makes its hardware.
constexpr std::array<KindSpec, 5> kKinds = {{
    {.kind = Kind::kGpu,
     .name = "gpu",
     .summary = "simulated GPUs, and what the kernel's log says of them",
     .driver = "gpu.example.com",
     .rules = &probes::kGpuRules,
     .simulated = true,
     .add_flags = AddGpuFlags,
     .validate = ValidateGpu},
    {.kind = Kind::kNic,
     .name = "nic",
     .summary = "network interfaces of this machine",
     .driver = "nic.example.com",
     .rules = &probes::kNicRules,
     .reads_kernel_log = false,
     .add_flags = AddNicFlags,
     .validate = ValidateNic},
    {.kind = Kind::kNvidia,
     .name = "nvidia",
     .summary = "NVIDIA GPUs of this machine, looked at by NVML",
     .driver = "nvidia.example.com",
     .rules = &probes::kGpuRules,
     .add_flags = AddNvidiaFlags,
     .validate = ValidateNvidia},
    {.kind = Kind::kPci,
     .name = "pci",
     .summary = "PCI devices of this machine",
     .driver = "pci.example.com",
     .rules = &probes::kPciRules,
     .reads_files = true,
     .add_flags = AddPciFlags,
     .validate = ValidatePci},
    {.kind = Kind::kSysfs,
     .name = "sysfs",
     .summary = "devices that are directories below /sys, by rules of yours",
     .driver = "sysfs.example.com",
     .rules = nullptr,
     .reads_files = true,
     .add_flags = AddSysfsFlags,
     .validate = ValidateSysfs},
}};

}  // namespace

std::span<const KindSpec> Kinds() { return kKinds; }

const KindSpec& SpecOf(Kind kind) {
  const auto spec = std::ranges::find(kKinds, kind, &KindSpec::kind);
  GALEN_CHECK(spec != kKinds.end());
  return *spec;
}

}  // namespace galen::device_driver
