// The functions of a loaded NVML, each of which may be missing in an older one. Shared by the files
// of NvmlLibrary only. Not changed once loaded, so every thread may read it and call: NVML itself
// is safe from several threads. Calls may hang with the GPU, so none is made on a loop.
#pragma once

#include <string>

#include "probes/nvml/nvml_abi.h"

namespace galen::probes {

// A function of the library; called when it is missing, it answers kFunctionNotFound.
template <typename... Args>
class NvmlFunction {
 public:
  void Set(void* symbol) { function_ = reinterpret_cast<int (*)(Args...)>(symbol); }
  explicit operator bool() const { return function_ != nullptr; }
  int operator()(Args... args) const {
    return function_ == nullptr ? nvml::kFunctionNotFound : function_(args...);
  }

 private:
  int (*function_)(Args...) = nullptr;
};

struct NvmlFunctions {
  explicit NvmlFunctions(void* loaded);

  void* library;  // dlopen's
  NvmlFunction<> init, shutdown;
  NvmlFunction<char*, unsigned> driver_version;
  NvmlFunction<unsigned*> count;
  NvmlFunction<unsigned, nvml::Device*> by_index;
  NvmlFunction<const char*, nvml::Device*> by_address;
  NvmlFunction<nvml::Device, char*, unsigned> uuid, serial, name;
  NvmlFunction<nvml::Device, nvml::PciInfo*> pci_info;
  NvmlFunction<nvml::Device, unsigned*> minor, power, width, width_most, generation,
      generation_most, replays, retirement_pending;
  NvmlFunction<nvml::Device, nvml::Memory*> memory;
  NvmlFunction<nvml::Device, unsigned*, unsigned*> mig_mode;
  NvmlFunction<nvml::Device, unsigned*> partitions_most, gpu_instance, compute_instance;
  NvmlFunction<nvml::Device, unsigned, nvml::Device*> partition_by_index;
  NvmlFunction<nvml::Device, nvml::DeviceAttributes*> attributes;
  NvmlFunction<nvml::Device, int, unsigned*> temperature, temperature_limit;
  NvmlFunction<nvml::Device, nvml::Utilization*> utilization;
  NvmlFunction<nvml::Device, int, int, unsigned long long*> ecc_errors;
  NvmlFunction<nvml::Device, unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows;
  NvmlFunction<nvml::Device, unsigned long long*> clock_reasons;
  NvmlFunction<nvml::Device, unsigned, unsigned*> nvlink_state;
  NvmlFunction<nvml::Device, unsigned, int, unsigned long long*> nvlink_errors;
  NvmlFunction<nvml::Device> validate_inforom;
  NvmlFunction<nvml::Device, nvml::FabricInfo*> fabric_info;
  NvmlFunction<nvml::Device, int, nvml::FieldValue*> field_values;
  NvmlFunction<nvml::EventSet*> event_set;
  NvmlFunction<nvml::EventSet> free_events;
  NvmlFunction<nvml::Device, unsigned long long, nvml::EventSet> register_events;
  NvmlFunction<nvml::EventSet, nvml::EventData*, unsigned> wait;
};

// "" when NVML has no such text.
std::string NvmlText(const NvmlFunction<nvml::Device, char*, unsigned>& function,
                     nvml::Device device);

// NVML's result; `text` changes only with kSuccess.
int NvmlText(const NvmlFunction<nvml::Device, char*, unsigned>& function, nvml::Device device,
             std::string& text);

// NVML's answer in plain words: "not supported", "the GPU is lost", "NVML error 999".
std::string NvmlErrorText(int result);

}  // namespace galen::probes
