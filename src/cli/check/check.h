// `galen check DEVICE`: computes on a device of this machine and compares each bit, or sends
// between several devices. Needs no cluster and no driver of Galen's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "active/check_watch.h"
#include "active/device_check.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/options.h"
#include "model/check_result.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {

// The command's flags.
struct CheckArguments {
  // "cpu", "gpu-0" (by the number of /dev/nvidia0), "GPU-7d4b…" or "0000:4b:00.0". One device is
  // checked by itself, several by sending data to each other; then "cpu" may be given more than
  // once.
  std::vector<std::string> devices;
  std::int64_t seconds = 60;
  std::int64_t rounds = 0;  // the most rounds; 0 = no bound
  std::string memory;       // "80%" of what is free; "" = of the kind's
  // °C; above it the check stops. Lower than what makes a GPU Unhealthy.
  std::int64_t max_temperature = 80;
  Duration call_timeout = std::chrono::seconds(30);  // a longer call hangs
  std::string seed;                                  // "" = a new one
  std::string driver;   // whose state directory gets the result; "" = none
  std::string results;  // the results directory itself, instead of `driver`'s
  std::string kubelet_root = "/var/lib/kubelet";
  bool in_use_too = false;  // also checks devices that Pods hold
  std::string cuda = "libcuda.so.1", nvml = "libnvidia-ml.so.1";
  std::string sysfs_root = "/sys", proc_root = "/proc";
  std::string output;  // table or json; "" = what Options says
};

// How `galen check` ended.
struct CheckEnd {
  int code = 0;         // 0 passed, 1 failed, 2 unknown, 64, or 130
  std::string text;     // for standard output
  std::string problem;  // for standard error
  bool hangs = false;   // a thread is in a call that never returns, and cannot be waited for
};

// Blocks for `seconds` at most, and `call_timeout`. Progress goes to standard error.
CheckEnd Check(const Options& options, const CheckArguments& arguments);

// ---- Parts of Check, declared for its tests.

// "80%" → 0.8; above 0 and up to 95: a device without any free memory stops working.
// InvalidArgument for anything else.
StatusOr<double> ParseMemoryShare(std::string_view text);
// The name as the kernel and the drivers write it; only a PCI address may differ, in its capitals.
// InvalidArgument: not one of the forms of CheckArguments::devices.
StatusOr<std::string> CanonicalDevice(const std::string& name);
// The directory for results; "" = nowhere. InvalidArgument: no driver of that name has state on
// this node, so none would read the result, or both `driver` and `results` are given.
StatusOr<std::string> ResultsDirectory(const CheckArguments& arguments);

// Other names of a GPU.
struct GpuNames {
  std::optional<std::string> of_driver{};  // galen-driver's: "gpu-0"; nullopt where nobody says it
  std::string uuid{};                      // a device plugin's: "GPU-7d4b…"; "" likewise
  bool known = false;                      // known to NVIDIA's kernel module
};
// All names of the GPU with this name or PCI address, from NVIDIA's kernel module, which may know
// none.
GpuNames NamesOfGpu(const std::string& name, const std::string& sysfs_root,
                    const std::string& proc_root);
// The agent's entries for that GPU: as a device of `driver` ("" = of any driver), and as devices
// that device plugins gave to containers.
std::vector<inspect::v1::Device> DevicesNamed(const inspect::v1::ListDevicesResponse& answer,
                                              const GpuNames& names, const std::string& driver);

// The input of a check's thread, and its result.
struct CheckWork {
  std::vector<std::string> devices;
  active::DeviceCheckOptions options;  // memory_share 0: the default for the kind of device
  std::string cuda, nvml, sysfs_root, proc_root;
};
// The result of a check, in total and for each device.
struct CheckReport {
  active::CheckOutcome outcome;
  std::vector<CheckResult> devices;  // times and boot are left out
  bool refused = false;              // a device does not exist, or the command line is wrong
};

// The temperature in °C of the checked devices; nullopt: not known. Set by the check's thread,
// called through its watch.
using CheckThermometer = std::function<std::optional<double>()>;

// Finds the devices and checks them, on the check's thread; blocks. `set_thermometer` is called
// with their thermometer once they are known, and with an empty function at the end.
CheckReport RunCheckWork(const CheckWork& work, active::CheckWatch& watch,
                         const std::function<void(CheckThermometer)>& set_thermometer);

// Writes a file for each device with a verdict into `directory`, which is created if missing; a
// device whose check came to no result keeps its former file. FailedPrecondition: one of them has
// no name that a driver knows; the others' results are written. Other errors are those of the disk.
Status LeaveResults(const CheckReport& report, const std::string& directory);

// The command's output; the check took `seconds`.
std::string CheckText(const CheckReport& report, std::int64_t seconds, std::uint64_t seed);
std::string CheckJson(const CheckReport& report, std::uint64_t seed);
// "gpu-0: 23 s of 60 s, walking ones, 61 °C".
std::string CheckProgress(const std::vector<std::string>& devices,
                          const active::CheckWatch::View& view, Duration passed, Duration time);

}  // namespace galen::cli
