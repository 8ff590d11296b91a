#include "active/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace galen::active {
namespace {

// More GPUs in one machine would be the answer of something broken; further ones are left out.
constexpr int kCudaGpusMax = 1024;
constexpr int kCudaTextSize = 256;

template <typename... Args>
bool Find(void* library, CudaFunction<Args...>& function) {
  function.call = reinterpret_cast<int (*)(Args...)>(::dlsym(library, function.name));
  return function.call != nullptr;
}

// "GPU-" and the usual groups of hexadecimal digits.
std::string UuidText(const cuda::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

// The driver writes "0000:4B:00.0".
std::string LowerCase(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

StatusOr<std::unique_ptr<CudaDriver>> CudaDriver::Open(const std::string& path, CheckWatch& watch) {
  void* library = nullptr;
  {
    const CheckWatch::Call call(watch, "loading the CUDA driver");
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return NotFound("load the CUDA driver: {}; is NVIDIA's driver installed, and --cuda right?",
                    ::dlerror());
  }
  std::unique_ptr<CudaDriver> driver(new CudaDriver(watch));
  RETURN_IF_ERROR(Annotate(driver->Load(library), "load the CUDA driver {}", path));
  // The library stays until the process ends: it has threads of its own.
  RETURN_IF_ERROR(driver->Call(driver->init, 0));
  return driver;
}

Status CudaDriver::Load(void* library) {
  std::string missing;
  const auto find_all = [&](auto&... functions) {
    ((Find(library, functions) ? void() : void(missing += fmt::format(" {}", functions.name))),
     ...);
  };
  find_all(init, count, device, name, uuid, pci_address, make_context, end_context, use_context,
           synchronize, memory, allocate, free, upload, download, copy_between, load, find, launch,
           error_name, error_text);
  if (missing.empty()) return OkStatus();
  return NotFound("it lacks{}; install a driver for CUDA 10 or newer", missing);
}

Status CudaDriver::StatusOf(std::string_view called, int result) const {
  if (result == cuda::kSuccess) return OkStatus();
  const char* code = nullptr;
  const char* text = nullptr;
  std::string what = fmt::format("CUDA error {}", result);
  if (error_name.call(result, &code) == cuda::kSuccess && code != nullptr) what = Shown(code);
  if (error_text.call(result, &text) == cuda::kSuccess && text != nullptr) {
    what += fmt::format(", {}", Shown(text));
  }
  switch (result) {
    case cuda::kOutOfMemory:
      return ResourceExhausted("{}: {}", called, what);
    case cuda::kEccUncorrectable:
    case cuda::kNvlinkUncorrectable:
    case cuda::kContained:
      return DataLoss("{}: {}", called, what);
    default:
      return Unavailable("{}: {}", called, what);
  }
}

StatusOr<std::vector<CudaGpu>> CudaDriver::Gpus() {
  int number = 0;
  RETURN_IF_ERROR(Call(count, &number));
  std::vector<CudaGpu> gpus;
  for (int i = 0; i < std::min(number, kCudaGpusMax); ++i) {
    ASSIGN_OR_RETURN(CudaGpu gpu, GpuAt(i));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

StatusOr<CudaGpu> CudaDriver::GpuAt(int ordinal) {
  cuda::Device handle = 0;
  RETURN_IF_ERROR(Call(device, &handle, ordinal));
  CudaGpu gpu{.ordinal = ordinal};
  std::array<char, kCudaTextSize> text{};
  RETURN_IF_ERROR(Call(name, text.data(), kCudaTextSize, handle));
  text.back() = '\0';
  gpu.model = Shown(text.data());
  text.fill('\0');
  RETURN_IF_ERROR(Call(pci_address, text.data(), kCudaTextSize, handle));
  text.back() = '\0';
  gpu.pci_address = LowerCase(Shown(text.data()));
  cuda::Uuid id{};
  RETURN_IF_ERROR(Call(uuid, &id, handle));
  gpu.uuid = UuidText(id);
  return gpu;
}

}  // namespace galen::active
