#include "driver/nvidia_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "model/driver_version.h"

namespace galen::device_driver {
namespace {

constexpr std::string_view kNvml = "libnvidia-ml.so.1";

// The libraries that compute programs load (NVIDIA's driver README, "Listing of Installed
// Components"), by the beginning of the file's name; graphics and display are left out.
constexpr std::array<std::string_view, 10> kLibraries = {
    "libcuda.so.",          "libcudadebugger.so.",
    "libnvcuvid.so.",       "libnvidia-allocator.so.",
    "libnvidia-cfg.so.",    "libnvidia-encode.so.",
    "libnvidia-ml.so.",     "libnvidia-nvvm.so.",
    "libnvidia-opencl.so.", "libnvidia-ptxjitcompiler.so."};

// Device nodes that all GPUs share.
constexpr std::array<std::string_view, 3> kControlNodes = {"nvidiactl", "nvidia-uvm",
                                                           "nvidia-uvm-tools"};

// "/" + "dev", "/run/nvidia/driver" + "dev".
std::string Below(const std::string& root, std::string_view path) {
  return (root.ends_with('/') ? root : root + "/") + std::string(path);
}

// Empty when there is no such directory.
std::vector<std::string> NamesIn(FileSystem& files, const std::string& directory) {
  StatusOr<std::vector<std::string>> names = files.List(directory);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool IsWanted(const std::string& name) {
  return std::ranges::any_of(kLibraries,
                             [&name](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

NvidiaFiles FindNvidiaFiles(FileSystem& files, const std::string& root,
                            const std::string& host_root) {
  NvidiaFiles found;
  // A driver in a container of its own has made its device nodes there.
  std::vector<std::string> nodes = NamesIn(files, Below(root, "dev"));
  if (Has(nodes, "nvidiactl")) {
    found.device_directory = Below(host_root, "dev");
  } else {
    nodes = NamesIn(files, "/dev");
  }
  for (const std::string_view node : kControlNodes) {
    if (Has(nodes, node)) found.control_nodes.emplace_back(node);
  }
  for (const std::string_view directory : kNvidiaLibraryDirectories) {
    for (const std::string& name : NamesIn(files, Below(root, directory))) {
      if (!IsWanted(name)) continue;
      const std::string path = std::string(directory) + "/" + name;
      found.libraries.push_back(
          {.host_path = Below(host_root, path), .container_path = "/" + path});
    }
  }
  if (Has(NamesIn(files, Below(root, "usr/bin")), "nvidia-smi")) {
    found.libraries.push_back({.host_path = Below(host_root, "usr/bin/nvidia-smi"),
                               .container_path = "/usr/bin/nvidia-smi"});
  }
  return found;
}

StatusOr<std::vector<std::string>> FindMigNodes(FileSystem& files, const std::string& proc_root,
                                                int gpu_minor, unsigned gpu_instance,
                                                unsigned compute_instance) {
  constexpr std::string_view kMinor = "DeviceFileMinor: ";
  const std::string instance = fmt::format("{}/driver/nvidia/capabilities/gpu{}/mig/gi{}",
                                           proc_root, gpu_minor, gpu_instance);
  std::vector<std::string> nodes;
  for (const std::string& path :
       {instance + "/access", fmt::format("{}/ci{}/access", instance, compute_instance)}) {
    const StatusOr<std::string> text = files.Read(path);
    const std::size_t at = text.ok() ? text->find(kMinor) : std::string::npos;
    const std::optional<std::int64_t> minor =
        at == std::string::npos ? std::nullopt
                                : LeadingNumber(std::string_view(*text).substr(at + kMinor.size()));
    if (!minor) {
      return FailedPrecondition(
          "NVIDIA's kernel module shows no capability {}: the MIG instance was destroyed, or the "
          "driver does not see the host's /proc",
          path);
    }
    nodes.push_back(fmt::format("nvidia-caps/nvidia-cap{}", *minor));
  }
  return nodes;
}

Status CheckVersions(const std::string& module_version, const NvidiaFiles& files) {
  std::vector<std::string> names;
  for (const CdiEdits::Mount& library : files.libraries) {
    names.push_back(library.host_path.substr(library.host_path.rfind('/') + 1));
  }
  const std::vector<std::string> versions = LibraryVersions(names);
  if (module_version.empty() || versions.empty() || Has(versions, module_version)) {
    return OkStatus();
  }
  return FailedPrecondition(
      "NVIDIA's kernel module is {}, its libraries on this node are {}: drain the node and load "
      "the new module, or start the node anew",
      module_version, fmt::join(versions, ", "));
}

std::string FindNvml(FileSystem& files, const std::string& root) {
  for (const std::string_view directory : kNvidiaLibraryDirectories) {
    const std::string place = Below(root, directory);
    if (Has(NamesIn(files, place), kNvml)) return place + "/" + std::string(kNvml);
  }
  return std::string(kNvml);
}

std::map<std::string, std::int64_t> NumaNodes(FileSystem& files, const std::string& sysfs_root,
                                              const std::vector<probes::NvmlGpu>& gpus) {
  std::map<std::string, std::int64_t> nodes;
  for (const probes::NvmlGpu& gpu : gpus) {
    const StatusOr<std::string> text =
        files.Read(fmt::format("{}/bus/pci/devices/{}/numa_node", sysfs_root, gpu.pci_address));
    if (!text.ok()) continue;
    // The kernel writes -1 where there is none.
    if (const auto node = LeadingNumber(*text)) nodes[gpu.pci_address] = *node;
  }
  return nodes;
}

}  // namespace galen::device_driver
