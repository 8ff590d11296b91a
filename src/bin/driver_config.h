// How a galen-driver is set up: its command line, checked whole before anything starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/flags.h"
#include "galen/driver.h"
#include "probes/rule.h"

namespace galen::device_driver {

enum class Kind { kGpu, kNic };

struct DriverConfig {
  Kind kind = Kind::kGpu;
  Driver::Options driver;
  std::string metrics_address;  // "" = none
  std::string rules_path;       // "" = the built-in table
  std::string state_dir;        // "" = below the kubelet's plugin directory
  Duration poll = std::chrono::seconds(2);
  std::string kernel_log;               // gpu: "/dev/kmsg"; "" = not read
  std::int64_t devices = 8;             // gpu
  std::string sysfs_root = "/sys";      // nic
  std::string network_namespace;        // nic; "" = the one that the process is in
  std::vector<std::string> interfaces;  // nic: patterns
};

// Flags of `galen-driver gpu` or `galen-driver nic`; `config` holds the defaults and outlives them.
void AddFlags(Flags& flags, Kind kind, DriverConfig& config);

// InvalidArgument holds every fault, one a line.
Status Validate(const DriverConfig& config);

// The operator's table, or the built-in one of this kind. The error names every faulty line.
StatusOr<probes::RuleTable> LoadRules(FileSystem& files, const DriverConfig& config);

// Where the driver keeps what a restart must not forget.
std::string StateDirectory(const DriverConfig& config);

}  // namespace galen::device_driver
