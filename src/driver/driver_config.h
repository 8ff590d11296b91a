// The configuration of a galen-driver: its command line, checked whole before anything starts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"
#include "base/flags.h"
#include "galen/driver.h"
#include "probes/rules/rule.h"

namespace galen::device_driver {

// Which hardware: simulated GPUs, network interfaces, NVIDIA GPUs or PCI devices of this machine,
// or any devices with a directory below /sys.
enum class Kind { kGpu, kNic, kNvidia, kPci, kSysfs };

// What a driver is configured with; the members' defaults are the flags'. Members of other kinds
// are ignored.
struct DriverConfig {
  Kind kind = Kind::kGpu;
  Driver::Options driver;
  // The name of another driver, or of a device plugin's resource: this program is then a health
  // source for it (sdk/app/health_source.h) and no driver itself; replaces driver.name.
  std::string health_only_for;
  std::string health_sources = "/run/galen/health";  // where a health source has its socket
  std::string rules_path;                            // "" = the built-in table
  // Whether commands that the rules name may be run. Off by default: otherwise whoever can write
  // the rules file could run any command as this process.
  bool run_commands = false;
  std::string state_dir;  // "" = below the kubelet's plugin directory
  // How long a report of a device's health holds, in whole seconds, as the protocol carries it;
  // replaces driver.health_timeout. Reports are repeated within half of it.
  Duration health_timeout = std::chrono::seconds(30);
  // How often devices are looked at; Validate() has the bounds.
  Duration poll = std::chrono::seconds(2);
  std::string kernel_log;    // all but nic: "/dev/kmsg"; "" = not read
  std::int64_t devices = 8;  // gpu
  bool shared = false;       // gpu: claims take parts of a GPU's memory
  // "NoSchedule" keeps new claims away from Unhealthy devices, "NoExecute" also has their holders
  // evicted; "" does neither.
  std::string taint_unhealthy;
  std::string taint_degraded;  // the same for Degraded devices
  // "always" leaves Unhealthy devices out of the ResourceSlices, "without-taints" only where the
  // API server does not keep the taint of taint_unhealthy; "" does neither.
  std::string withdraw_unhealthy;
  // Whether devices have the attributes galen.dev/health and galen.dev/degraded.
  bool health_attributes = false;
  std::string sysfs_root = "/sys";      // all but gpu
  std::string proc_root = "/proc";      // nvidia
  std::string network_namespace;        // nic; "" = the one that the process is in
  std::vector<std::string> interfaces;  // nic: shell patterns of names
  // nvidia: the library; "" = looked for below driver_root, then by the dynamic linker.
  std::string nvml;
  std::string driver_root = "/";        // nvidia: where this process sees the driver's files
  std::string host_driver_root;         // nvidia: the same by the host's path; "" = driver_root
  std::vector<std::string> selections;  // pci: probes::ParsePciSelection has the forms
  std::vector<std::string> patterns;    // sysfs: directories below its root, with stars
};

// Takes one fault of a configuration, as a sentence.
using AddFault = std::function<void(std::string_view)>;

// What differs between kinds.
struct KindSpec {
  Kind kind;
  std::string_view name;          // of its subcommand: `galen-driver gpu`
  std::string_view summary;       // its devices, for --help
  std::string_view driver;        // the driver's name unless --name says another
  const std::string_view* rules;  // the built-in table; null: none
  bool simulated = false;         // its devices are simulated
  bool reads_files = false;       // the signs of its rules may be files below /sys
  bool reads_kernel_log = true;   // or lines of the kernel's log
  void (*add_flags)(Flags& flags, DriverConfig& config);
  void (*validate)(const DriverConfig& config, const AddFault& add);
};

// All kinds, each once.
std::span<const KindSpec> Kinds();
const KindSpec& SpecOf(Kind kind);

// Flags of `galen-driver KIND`. `config` gets the kind and its defaults now, the rest when the
// flags are parsed; it outlives them.
void AddFlags(Flags& flags, const KindSpec& kind, DriverConfig& config);

// The SDK's options: `driver`, with the health timeout of the command line.
Driver::Options SdkOptions(const DriverConfig& config);

// InvalidArgument holds every fault, one a line. Reads nothing but `config`.
Status Validate(const DriverConfig& config);

// The operator's table, or the built-in one of this kind; a sysfs driver has none. InvalidArgument
// names the file that cannot be read, every faulty line, or a sign whose source this driver does
// not read.
StatusOr<probes::RuleTable> LoadRules(FileSystem& files, const DriverConfig& config);
// The same, from the text of the operator's file.
StatusOr<probes::RuleTable> ParseRulesFile(std::string_view text, const DriverConfig& config);

// The devices that the command line asks for: "--pattern class/acme/card*"; "" for kinds that take
// all.
std::string AskedFor(const DriverConfig& config);

// Whether a sign of the table is a command, or a metric of an exporter.
bool HasChecks(const probes::RuleTable& table);

// Where the driver keeps its state over restarts: in `state_dir`, if given. Else a driver uses its
// own directory below the kubelet's root, which its container mounts anyway; a health source uses
// one beside its socket, since the other belongs to the driver that it reports for.
std::string StateDirectory(const DriverConfig& config);

}  // namespace galen::device_driver
