// The files of NVIDIA's driver that a container needs beside its GPU: control device nodes and the
// libraries that must be of the kernel module's own version.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "galen/driver.h"
#include "probes/nvml/nvml_library.h"

namespace galen::device_driver {

// The files that were found, as the host's paths.
struct NvidiaFiles {
  std::string device_directory = "/dev";     // where the host has nvidia0 and nvidiactl
  std::vector<std::string> control_nodes{};  // names: "nvidiactl", "nvidia-uvm"
  std::vector<CdiEdits::Mount> libraries{};

  bool operator==(const NvidiaFiles&) const = default;
};

// Looks below `root`, the driver's installation root as this process sees it: "/", or the directory
// that the GPU operator mounts. `host_root` is the same directory by the host's path, which the
// container runtime needs. Missing files are left out: a driver without libraries still has device
// nodes.
NvidiaFiles FindNvidiaFiles(FileSystem& files, const std::string& root,
                            const std::string& host_root);

// The device nodes that the programs of a MIG instance open beside their GPU's, below the device
// directory: "nvidia-caps/nvidia-cap21" of its GPU instance, and of its compute instance. From
// <proc>/driver/nvidia/capabilities (NVIDIA's MIG user guide, "Device Nodes and Capabilities").
// FailedPrecondition: the kernel module has no such instance.
StatusOr<std::vector<std::string>> FindMigNodes(FileSystem& files, const std::string& proc_root,
                                                int gpu_minor, unsigned gpu_instance,
                                                unsigned compute_instance);

// FailedPrecondition, with both versions and what to do, when there are libraries with a version in
// their names and none is of the kernel module's; "" = the module's version is not known, which is
// no reason to refuse anything.
Status CheckVersions(const std::string& module_version, const NvidiaFiles& files);

// The path of libnvidia-ml.so.1 below `root`; the bare name, for the dynamic linker to find, if it
// is in none of the usual directories.
std::string FindNvml(FileSystem& files, const std::string& root);

// The NUMA nodes of GPUs by PCI address, where sysfs knows one (-1 there means that it does not).
std::map<std::string, std::int64_t> NumaNodes(FileSystem& files, const std::string& sysfs_root,
                                              const std::vector<probes::NvmlGpu>& gpus);

}  // namespace galen::device_driver
