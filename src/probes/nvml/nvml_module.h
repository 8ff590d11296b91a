// What NVIDIA's kernel module shows of itself and its GPUs without its library.
#pragma once

#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "probes/nvml/nvml.h"

namespace galen::probes {

// The module, as far as its files say; everything is empty where it is not loaded.
struct NvmlModule {
  std::string version{};        // "570.124.06"
  std::vector<NvmlGpu> gpus{};  // without NVML's handles, serials and memory, in order of address
};

// Reads <sysfs>/module/nvidia/version, else <proc>/driver/nvidia/version, and
// <proc>/driver/nvidia/gpus (NVIDIA's driver README, "Using the /proc File System Interface").
// Never waits for a GPU.
NvmlModule ReadNvmlModule(FileSystem& files, const std::string& sysfs_root,
                          const std::string& proc_root);

}  // namespace galen::probes
