// The MIG instances of a GPU, by NVML.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

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

// Whether this kind of GPU or library never says it; any other failure may be over at the next
// look.
bool IsNeverSaid(int result) {
  return result == nvml::kNotSupported || result == nvml::kFunctionNotFound ||
         result == nvml::kInvalidArgument || result == nvml::kNoPermission;
}

// Fills `partition` from NVML. kSuccess, or why it is not known: kNotFound for an instance that was
// destroyed meanwhile. Every call fails for a GPU that is lost, but its instances are still there.
int Describe(const NvmlFunctions& call, nvml::Device handle, NvmlPartition& partition) {
  int result = NvmlText(call.uuid, handle, partition.uuid);
  if (result == nvml::kSuccess) result = call.gpu_instance(handle, &partition.gpu_instance);
  if (result == nvml::kSuccess) result = call.compute_instance(handle, &partition.compute_instance);
  if (result != nvml::kSuccess) return result;
  std::string name;
  result = NvmlText(call.name, handle, name);
  if (result != nvml::kSuccess && !IsNeverSaid(result)) return result;
  partition.profile = ProfileOf(name);
  nvml::DeviceAttributes attributes{};
  result = call.attributes(handle, &attributes);
  if (result != nvml::kSuccess) return IsNeverSaid(result) ? nvml::kSuccess : result;
  partition.memory = attributes.memory_mebibytes * kMebibyte;
  partition.multiprocessors = attributes.multiprocessors;
  return nvml::kSuccess;
}

// The GPU's handle. One that the module alone has shown, while the versions did not match, has none
// yet; nullptr: NVML does not give it now.
nvml::Device HandleOf(const NvmlFunctions& call, const NvmlGpu& gpu) {
  nvml::Device handle = gpu.handle;
  if (handle != nullptr) return handle;
  const int result = call.by_address(gpu.pci_address.c_str(), &handle);
  return result == nvml::kSuccess ? handle : nullptr;
}

}  // namespace

std::optional<bool> NvmlLibrary::IsPartitioned(const NvmlGpu& gpu) {
  nvml::Device handle = Ready() ? HandleOf(*functions_, gpu) : nullptr;
  if (handle == nullptr) return std::nullopt;
  unsigned now = 0, to_be = 0;
  const int result = functions_->mig_mode(handle, &now, &to_be);
  if (result == nvml::kSuccess) return now != 0;
  // GPUs, and libraries, from before there was MIG.
  if (result == nvml::kNotSupported || result == nvml::kFunctionNotFound) return false;
  return std::nullopt;
}

std::optional<std::vector<NvmlPartition>> NvmlLibrary::Partitions(const NvmlGpu& gpu) {
  const NvmlFunctions& call = *functions_;
  nvml::Device parent = Ready() ? HandleOf(call, gpu) : nullptr;
  if (parent == nullptr) return std::nullopt;
  unsigned most = 0;
  if (call.partitions_most(parent, &most) != nvml::kSuccess) return std::nullopt;
  std::vector<NvmlPartition> partitions;
  for (unsigned index = 0; index < std::min(most, kNvmlPartitionsMax); ++index) {
    nvml::Device handle = nullptr;
    const int result = call.partition_by_index(parent, index, &handle);
    // Numbers have gaps where instances were destroyed.
    if (result == nvml::kNotFound || result == nvml::kInvalidArgument) continue;
    if (result != nvml::kSuccess) return std::nullopt;
    NvmlPartition partition;
    const int described = Describe(call, handle, partition);
    if (described == nvml::kNotFound) continue;
    // A list without it would say that it was destroyed.
    if (described != nvml::kSuccess || partition.uuid.empty()) return std::nullopt;
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

}  // namespace galen::probes
