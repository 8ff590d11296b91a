#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "model/driver_version.h"
#include "probes/nvml/nvml_library.h"

namespace galen::probes {
namespace {

// The text after "KEY:" and spaces in a file of lines; "" when no line has it.
std::string ValueOf(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") continue;
    const std::size_t first = line.find_first_not_of(" \t", key.size() + 1);
    if (first == std::string_view::npos) return "";
    return std::string(line.substr(first, line.find_last_not_of(" \t") + 1 - first));
  }
  return "";
}

// "0000:4b:00.0/information" as the module writes it.
NvmlGpu GpuOf(const std::string& address, std::string_view information) {
  NvmlGpu gpu{.uuid = ValueOf(information, "GPU UUID"),
              .model = ValueOf(information, "Model"),
              .pci_address = address,
              .is_mode_unknown = true};
  if (const auto minor = LeadingNumber(ValueOf(information, "Device Minor"))) {
    gpu.minor = static_cast<int>(*minor);
  }
  // A GPU that was never initialised has question marks in the place of its UUID's digits.
  if (gpu.uuid.empty() || gpu.uuid.find('?') != std::string::npos) gpu.error = "it has no UUID";
  return gpu;
}

}  // namespace

NvmlModule ReadNvmlModule(FileSystem& files, const std::string& sysfs_root,
                          const std::string& proc_root) {
  NvmlModule module;
  StatusOr<std::string> version = files.Read(sysfs_root + "/module/nvidia/version");
  if (!version.ok()) version = files.Read(proc_root + "/driver/nvidia/version");
  if (version.ok()) module.version = KernelModuleVersion(*version);
  const std::string directory = proc_root + "/driver/nvidia/gpus";
  StatusOr<std::vector<std::string>> addresses = files.List(directory);
  if (!addresses.ok()) return module;
  std::ranges::sort(*addresses);
  for (const std::string& address : *addresses) {
    if (module.gpus.size() >= kNvmlGpusMax) break;
    const StatusOr<std::string> text = files.Read(directory + "/" + address + "/information");
    if (text.ok()) module.gpus.push_back(GpuOf(address, *text));
  }
  return module;
}

}  // namespace galen::probes
