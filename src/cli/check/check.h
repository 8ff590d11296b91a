// `galen check DEVICE`: computes on a device of this machine and compares each bit, or sends
// between several devices. Needs no cluster and no driver of ours.
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

// What its flags say.
struct CheckArguments {
  // "cpu", "gpu-0" (by the number of /dev/nvidia0), "GPU-7d4b…" or "0000:4b:00.0". One is checked
  // by itself, several by what they send each other; "cpu" may come more than once then.
  std::vector<std::string> devices;
  std::int64_t seconds = 60;
  std::int64_t rounds = 0;            // then it passed before its time; 0 = no bound
  std::string memory;                 // "80%" of what is free; "" = of the kind's
  std::int64_t max_temperature = 80;  // °C; hotter, it stops. Below what makes a GPU Unhealthy.
  Duration call_timeout = std::chrono::seconds(30);  // a call that lasts longer hangs
  std::string seed;                                  // "" = a new one
  std::string driver;   // whose state directory gets the result; "" = none
  std::string results;  // the directory itself, in the place of `driver`'s
  std::string kubelet_root = "/var/lib/kubelet";
  bool in_use_too = false;  // also devices that Pods hold
  std::string cuda = "libcuda.so.1", nvml = "libnvidia-ml.so.1";
  std::string sysfs_root = "/sys", proc_root = "/proc";
  std::string output;  // table or json; "" = what Options says
};

// How `galen check` ended.
struct CheckEnd {
  int code = 0;         // 0 passed, 1 failed, 2 unknown, 64, or 130
  std::string text;     // for standard output
  std::string problem;  // for standard error
  bool hangs = false;   // a thread is in a call that never returns: nothing can wait for it
};

// Blocks for `seconds` at most, and `call_timeout`. Progress goes to standard error.
CheckEnd Check(const Options& options, const CheckArguments& arguments);

// ---- The parts of Check that its tests know.

// "80%" → 0.8; above 0 and up to 95: a device without any free memory stops working.
// InvalidArgument for anything else.
StatusOr<double> ParseMemoryShare(std::string_view text);
// The name as the kernel and the drivers write it, where only its capitals are others: of a PCI
// address. InvalidArgument: it is none of the forms of CheckArguments::devices.
StatusOr<std::string> CanonicalDevice(const std::string& name);
// Where results go; "" = nowhere. InvalidArgument: no driver of that name has state on this node,
// none would look for the result, or both `driver` and `results` say where.
StatusOr<std::string> ResultsDirectory(const CheckArguments& arguments);

// What a GPU is called by others.
struct GpuNames {
  std::optional<std::string> of_driver{};  // galen-driver's: "gpu-0"; nullopt where nobody says it
  std::string uuid{};                      // a device plugin's: "GPU-7d4b…"; "" likewise
  bool known = false;                      // to NVIDIA's kernel module
};
// All names of the GPU that has this name or PCI address, by what NVIDIA's kernel module shows of
// it, which may be nothing.
GpuNames NamesOfGpu(const std::string& name, const std::string& sysfs_root,
                    const std::string& proc_root);
// What the agent says of that GPU: as a device of `driver` ("" = of any driver), and as those that
// device plugins gave to containers.
std::vector<inspect::v1::Device> DevicesNamed(const inspect::v1::ListDevicesResponse& answer,
                                              const GpuNames& names, const std::string& driver);

// What a check's thread is given, and what it says in the end.
struct CheckWork {
  std::vector<std::string> devices;
  active::DeviceCheckOptions options;  // memory_share 0: that of the kind
  std::string cuda, nvml, sysfs_root, proc_root;
};
// What a check found, of all its devices and of each.
struct CheckReport {
  active::CheckOutcome outcome;
  std::vector<CheckResult> devices;  // each with what is known of it; times and boot are left out
  bool refused = false;              // a device is not there, or the command line is wrong
};

// °C of what is checked; nullopt: not known. Set by the work, asked through its watch.
using CheckThermometer = std::function<std::optional<double>()>;

// Finds the devices and checks them, on the check's thread; blocks. `set_thermometer` gets how
// their temperature is measured once they are known, and an empty function at the end.
CheckReport RunCheckWork(const CheckWork& work, active::CheckWatch& watch,
                         const std::function<void(CheckThermometer)>& set_thermometer);

// Writes a file for each device with a verdict into `directory`, which is made where it is missing;
// a device whose check came to no result keeps its former file. FailedPrecondition: one of them has
// no name that a driver knows; the others' results are written. Other errors are those of the disk.
Status LeaveResults(const CheckReport& report, const std::string& directory);

// What is printed. `seconds` that it took.
std::string CheckText(const CheckReport& report, std::int64_t seconds, std::uint64_t seed);
std::string CheckJson(const CheckReport& report, std::uint64_t seed);
// "gpu-0: 23 s of 60 s, walking ones, 61 °C".
std::string CheckProgress(const std::vector<std::string>& devices,
                          const active::CheckWatch::View& view, Duration passed, Duration time);

}  // namespace galen::cli
