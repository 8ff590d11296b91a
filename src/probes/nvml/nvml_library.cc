#include "probes/nvml/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "model/driver_version.h"
#include "probes/nvml/nvml_functions.h"

namespace galen::probes {
namespace {

// The first name that the library has; nullptr: none.
void* FirstSymbol(void* library, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* symbol = ::dlsym(library, name)) return symbol;
  }
  return nullptr;
}

// By the name of the file that was loaded, whose links are followed: "libnvidia-ml.so.1" is one to
// "libnvidia-ml.so.570.124.06". nvmlSystemGetNVMLVersion gives less: "12.570.124".
std::string VersionOf(const NvmlFunctions& functions) {
  Dl_info info{};
  if (::dladdr(::dlsym(functions.library, "nvmlInit_v2"), &info) == 0) return "";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? "" : LibraryVersion(file.string());
}

// What asking again does not change, as long as the library is loaded.
bool IsForGood(int result) {
  return result == nvml::kNotSupported || result == nvml::kFunctionNotFound;
}

// sysfs and the kernel's log have four digits of the domain and lower case; NVML eight and upper.
std::string PciAddress(const nvml::PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

}  // namespace

int NvmlText(const NvmlFunction<nvml::Device, char*, unsigned>& function, nvml::Device device,
             std::string& text) {
  std::array<char, nvml::kTextSize> buffer{};
  const int result = function(device, buffer.data(), static_cast<unsigned>(buffer.size()));
  buffer.back() = '\0';
  if (result == nvml::kSuccess) text = buffer.data();
  return result;
}

std::string NvmlText(const NvmlFunction<nvml::Device, char*, unsigned>& function,
                     nvml::Device device) {
  std::string text;
  // Whoever asks this way shows "" for a text that cannot be read.
  static_cast<void>(NvmlText(function, device, text));
  return text;
}

std::string NvmlErrorText(int result) {
  switch (result) {
    case nvml::kInvalidArgument:
      return "invalid argument";
    case nvml::kNotSupported:
      return "not supported";
    case nvml::kNoPermission:
      return "no permission";
    case nvml::kNotFound:
      return "not found";
    case nvml::kDriverNotLoaded:
      return "NVIDIA's kernel module is not loaded";
    case nvml::kTimeout:
      return "timed out";
    case nvml::kFunctionNotFound:
      return "this version of the library has no such function";
    case nvml::kGpuIsLost:
      return "the GPU is lost";
    case nvml::kResetRequired:
      return "the GPU needs a reset";
    case nvml::kVersionMismatch:
      return "driver/library version mismatch";
    default:
      return fmt::format("NVML error {}", result);
  }
}

NvmlFunctions::NvmlFunctions(void* loaded) : library(loaded) {
  const auto load = [this](auto& function, std::initializer_list<const char*> names) {
    function.Set(FirstSymbol(library, names));
  };
  load(init, {"nvmlInit_v2", "nvmlInit"});
  load(shutdown, {"nvmlShutdown"});
  load(driver_version, {"nvmlSystemGetDriverVersion"});
  load(count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  load(by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  load(by_address, {"nvmlDeviceGetHandleByPciBusId_v2"});
  load(uuid, {"nvmlDeviceGetUUID"});
  load(serial, {"nvmlDeviceGetSerial"});
  load(name, {"nvmlDeviceGetName"});
  load(pci_info, {"nvmlDeviceGetPciInfo_v3"});
  load(minor, {"nvmlDeviceGetMinorNumber"});
  load(memory, {"nvmlDeviceGetMemoryInfo"});
  load(mig_mode, {"nvmlDeviceGetMigMode"});
  load(partitions_most, {"nvmlDeviceGetMaxMigDeviceCount"});
  load(partition_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  load(gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
  load(compute_instance, {"nvmlDeviceGetComputeInstanceId"});
  load(attributes, {"nvmlDeviceGetAttributes_v2"});
  load(temperature, {"nvmlDeviceGetTemperature"});
  load(temperature_limit, {"nvmlDeviceGetTemperatureThreshold"});
  load(power, {"nvmlDeviceGetPowerUsage"});
  load(utilization, {"nvmlDeviceGetUtilizationRates"});
  load(ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  load(remapped_rows, {"nvmlDeviceGetRemappedRows"});
  load(retirement_pending, {"nvmlDeviceGetRetiredPagesPendingStatus"});
  load(width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  load(width_most, {"nvmlDeviceGetMaxPcieLinkWidth"});
  load(generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  load(generation_most, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  load(replays, {"nvmlDeviceGetPcieReplayCounter"});
  // Renamed with CUDA 12.2; the meaning stayed.
  load(clock_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  load(nvlink_state, {"nvmlDeviceGetNvLinkState"});
  load(nvlink_errors, {"nvmlDeviceGetNvLinkErrorCounter"});
  load(validate_inforom, {"nvmlDeviceValidateInforom"});
  load(fabric_info, {"nvmlDeviceGetGpuFabricInfo"});
  load(field_values, {"nvmlDeviceGetFieldValues"});
  load(event_set, {"nvmlEventSetCreate"});
  load(free_events, {"nvmlEventSetFree"});
  load(register_events, {"nvmlDeviceRegisterEvents"});
  load(wait, {"nvmlEventSetWait_v2"});
}

NvmlLibrary::NvmlLibrary(std::unique_ptr<NvmlFunctions> functions, std::string version,
                         LookAtModule module, bool ready)
    : functions_(std::move(functions)),
      version_(std::move(version)),
      module_(std::move(module)),
      ready_(ready) {}

NvmlLibrary::~NvmlLibrary() {
  // The event set goes with the library; the handle of dlopen stays, since NVML has threads of its
  // own that may be in its code.
  functions_->shutdown();
}

StatusOr<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(const std::string& path,
                                                         LookAtModule module) {
  void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    return NotFound("load NVML: {}; is NVIDIA's driver installed, and --nvml right?", ::dlerror());
  }
  auto functions = std::make_unique<NvmlFunctions>(loaded);
  if (!functions->init || !functions->count || !functions->by_index) {
    return NotFound("load NVML: {} is not NVML: it lacks nvmlInit_v2", path);
  }
  const int result = functions->init();
  // A driver that ended here could neither say why, nor unprepare claims of Pods that end.
  const bool mismatch = result == nvml::kVersionMismatch && !module().gpus.empty();
  if (result != nvml::kSuccess && !mismatch) {
    return FailedPrecondition(
        "start NVML of {}: {}; does nvidia-smi work on this machine? After an update of the driver "
        "the old kernel module stays until it is loaded anew",
        path, NvmlErrorText(result));
  }
  std::string version = VersionOf(*functions);
  return std::unique_ptr<NvmlLibrary>(
      new NvmlLibrary(std::move(functions), std::move(version), std::move(module), !mismatch));
}

bool NvmlLibrary::Ready() {
  if (ready_ || trying_.test_and_set()) return ready_;
  // Looked at again: the thread that tried before may have ended in between.
  ready_ = ready_ || functions_->init() == nvml::kSuccess;
  trying_.clear();
  return ready_;
}

Sign NvmlLibrary::Mismatch() const {
  const auto named = [](const std::string& version) {
    return version.empty() ? std::string("of unknown version") : version;
  };
  Sign sign{.name = "kernel-module",
            .value = named(module_().version),
            .raw = "NVML: " + NvmlErrorText(nvml::kVersionMismatch),
            .expected_text = named(version_)};
  // NVML knows better than the names of files, which may have been replaced.
  if (ValueText(sign) == sign.expected_text) sign.expected_text = "of another version";
  return sign;
}

StatusOr<std::string> NvmlLibrary::DriverVersion() {
  if (!Ready()) return module_().version;
  std::array<char, nvml::kTextSize> text{};
  const int result = functions_->driver_version(text.data(), static_cast<unsigned>(text.size()));
  if (result != nvml::kSuccess) return Unavailable("driver version: {}", NvmlErrorText(result));
  text.back() = '\0';
  return std::string(text.data());
}

NvmlGpu NvmlLibrary::GpuAt(unsigned index) {
  const NvmlFunctions& call = *functions_;
  NvmlGpu gpu;
  nvml::PciInfo pci{};
  int result = call.by_index(index, &gpu.handle);
  if (result == nvml::kSuccess) result = call.pci_info(gpu.handle, &pci);
  if (result != nvml::kSuccess) return {.error = NvmlErrorText(result)};
  gpu.pci_address = PciAddress(pci);
  gpu.uuid = NvmlText(call.uuid, gpu.handle);
  if (gpu.uuid.empty()) return {.error = "it has no UUID"};
  gpu.serial = NvmlText(call.serial, gpu.handle);
  gpu.model = NvmlText(call.name, gpu.handle);
  unsigned minor = 0;
  nvml::Memory memory{};
  if (call.minor(gpu.handle, &minor) == nvml::kSuccess) gpu.minor = static_cast<int>(minor);
  // No GPU is without memory: a library that says so does not know it.
  if (call.memory(gpu.handle, &memory) == nvml::kSuccess && memory.total > 0) {
    gpu.memory = memory.total;
  }
  const std::optional<bool> partitioned = IsPartitioned(gpu);
  gpu.is_mode_unknown = !partitioned;
  gpu.is_partitioned = partitioned.value_or(false);
  if (gpu.is_partitioned) gpu.partitions = Partitions(gpu).value_or(std::vector<NvmlPartition>());
  return gpu;
}

StatusOr<std::vector<NvmlGpu>> NvmlLibrary::Gpus() {
  if (!Ready()) return module_().gpus;
  unsigned count = 0;
  if (const int result = functions_->count(&count); result != nvml::kSuccess) {
    return Unavailable("count GPUs: {}", NvmlErrorText(result));
  }
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < std::min(count, kNvmlGpusMax); ++index) {
    gpus.push_back(GpuAt(index));
    if (gpus.back().error.empty()) uuids_[gpus.back().handle] = gpus.back().uuid;
  }
  return gpus;
}

Status NvmlLibrary::Subscribe() {
  if (!Ready()) return Unavailable("{}", NvmlErrorText(nvml::kVersionMismatch));
  // No GPUs were found while the versions did not match.
  if (uuids_.empty()) RETURN_IF_ERROR(Gpus().status());
  if (uuids_.empty()) return Unavailable("ask for XIDs: no GPU answers");
  if (const int result = functions_->event_set(&events_); result != nvml::kSuccess) {
    events_ = nullptr;
    if (IsForGood(result)) return Unimplemented("this version of NVML has no events");
    return Unavailable("ask for XIDs: {}", NvmlErrorText(result));
  }
  unasked_.clear();
  silent_.clear();
  for (const auto& [device, uuid] : uuids_) unasked_[device] = nvml::kSuccess;
  if (Ask() > 0) return OkStatus();
  functions_->free_events(std::exchange(events_, nullptr));
  if (unasked_.empty()) return Unimplemented("no GPU of this machine reports XIDs by NVML");
  return Unavailable("ask for XIDs: {}", NvmlErrorText(unasked_.rbegin()->second));
}

std::size_t NvmlLibrary::Ask() {
  std::size_t successes = 0;
  for (auto it = unasked_.begin(); it != unasked_.end();) {
    auto& [device, result] = *it;
    result = functions_->register_events(device, nvml::kEventXid, events_);
    if (result == nvml::kSuccess) ++successes;
    if (IsForGood(result)) silent_.insert(device);
    it = result == nvml::kSuccess || IsForGood(result) ? unasked_.erase(it) : std::next(it);
  }
  return successes;
}

StatusOr<NvmlXids> NvmlLibrary::WaitForXids(Duration most) {
  if (events_ == nullptr) {
    RETURN_IF_ERROR(Subscribe());
  } else {
    Ask();
  }
  nvml::EventData event{};
  const auto wait =
      static_cast<unsigned>(std::chrono::duration_cast<std::chrono::milliseconds>(most).count());
  const int result = functions_->wait(events_, &event, wait);
  if (result == nvml::kTimeout) return NotReporting();
  if (result != nvml::kSuccess) {
    // A GPU that is lost fails the wait for all: the next set is without it.
    functions_->free_events(std::exchange(events_, nullptr));
    if (result == nvml::kFunctionNotFound) return Unimplemented("{}", NvmlErrorText(result));
    return Unavailable("wait for XIDs: {}", NvmlErrorText(result));
  }
  NvmlXids waited = NotReporting();
  // XIDs are all that was asked for.
  const auto uuid = uuids_.find(event.device);
  if (uuid == uuids_.end()) return waited;
  std::string part;
  if (event.gpu_instance != nvml::kNoInstance) part = fmt::format("{}", event.gpu_instance);
  if (!part.empty() && event.compute_instance != nvml::kNoInstance) {
    part += fmt::format("/{}", event.compute_instance);
  }
  waited.xids.push_back({.uuid = uuid->second, .number = event.data, .part = std::move(part)});
  return waited;
}

NvmlXids NvmlLibrary::NotReporting() const {
  NvmlXids none;
  for (const auto& [device, result] : unasked_) {
    none.refused[uuids_.at(device)] = "ask for XIDs: " + NvmlErrorText(result);
  }
  for (void* const device : silent_) none.silent.insert(uuids_.at(device));
  return none;
}

}  // namespace galen::probes
