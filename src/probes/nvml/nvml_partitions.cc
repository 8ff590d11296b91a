// The MIG instances of a GPU, by NVML.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "probes/nvml/nvml_functions.h"
#include "probes/nvml/nvml_library.h"

namespace galen::probes {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb" ends with the profile's name.
std::string ProfileOf(std::string_view name) {
  constexpr std::string_view kBegin = " MIG ";
  const std::size_t begin = name.rfind(kBegin);
  return begin == std::string_view::npos ? "" : std::string(name.substr(begin + kBegin.size()));
}

// What NVML says of one; nullopt where it does not say which it is, as of one that is destroyed
// meanwhile.
std::optional<NvmlPartition> PartitionOf(const NvmlFunctions& call, nvml::Device handle) {
  NvmlPartition partition;
  partition.uuid = NvmlText(call.uuid, handle);
  const bool numbered =
      call.gpu_instance(handle, &partition.gpu_instance) == nvml::kSuccess &&
      call.compute_instance(handle, &partition.compute_instance) == nvml::kSuccess;
  if (partition.uuid.empty() || !numbered) return std::nullopt;
  partition.profile = ProfileOf(NvmlText(call.name, handle));
  nvml::DeviceAttributes attributes{};
  if (call.attributes(handle, &attributes) == nvml::kSuccess) {
    partition.memory = attributes.memory_mebibytes * kMebibyte;
    partition.multiprocessors = attributes.multiprocessors;
  }
  return partition;
}

}  // namespace

std::optional<std::vector<NvmlPartition>> NvmlLibrary::Partitions(const NvmlGpu& gpu) {
  // One that the module alone has shown has no handle yet.
  if (!Ready() || gpu.handle == nullptr) return std::nullopt;
  const NvmlFunctions& call = *functions_;
  unsigned most = 0;
  if (call.partitions_most(gpu.handle, &most) != nvml::kSuccess) return std::nullopt;
  std::vector<NvmlPartition> partitions;
  for (unsigned index = 0; index < std::min(most, kNvmlPartitionsMax); ++index) {
    nvml::Device handle = nullptr;
    const int result = call.partition_by_index(gpu.handle, index, &handle);
    // Numbers have gaps where instances were destroyed.
    if (result == nvml::kNotFound || result == nvml::kInvalidArgument) continue;
    if (result != nvml::kSuccess) return std::nullopt;
    if (auto partition = PartitionOf(call, handle)) partitions.push_back(*std::move(partition));
  }
  return partitions;
}

}  // namespace galen::probes
