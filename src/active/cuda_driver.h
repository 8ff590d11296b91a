// libcuda.so.1, loaded at run time: the CUDA driver API as active checks use it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "active/check_watch.h"
#include "active/cuda_abi.h"
#include "base/status.h"

namespace galen::active {

// kernels.ptx, what the functions below launch.
extern const std::string_view kKernels;

// A function of the library, with its name.
template <typename... Args>
struct CudaFunction {
  const char* name;
  int (*call)(Args...) = nullptr;
};

// A GPU as the driver counts it.
struct CudaGpu {
  int ordinal = 0;
  std::string model{};        // "NVIDIA H100 80GB HBM3"
  std::string uuid{};         // "GPU-7d4b…", as NVML and nvidia-smi write it
  std::string pci_address{};  // "0000:4b:00.0", lower case as in sysfs

  bool operator==(const CudaGpu&) const = default;
};

// Calls block and may hang, on the check's thread; `watch` knows which one it is in.
class CudaDriver {
 public:
  // Loads and initialises it: a path, or a name that the dynamic linker looks for. NotFound: there
  // is no such library, or it lacks a function; Unavailable: it does not start. Both say what to
  // do. `watch` outlives the driver.
  static StatusOr<std::unique_ptr<CudaDriver>> Open(const std::string& path, CheckWatch& watch);
  CudaDriver(const CudaDriver&) = delete;

  // All GPUs that this process may use (CUDA_VISIBLE_DEVICES hides some).
  StatusOr<std::vector<CudaGpu>> Gpus();

  // Calls `function`. DataLoss: the GPU says that its memory or a link of it is broken;
  // ResourceExhausted: no memory; Unavailable: anything else. With the function's name.
  template <typename... Args>
  Status Call(const CudaFunction<Args...>& function, std::type_identity_t<Args>... args) {
    const CheckWatch::Call call(watch_, function.name);
    return StatusOf(function.name, function.call(args...));
  }

  CudaFunction<unsigned> init{"cuInit"};
  CudaFunction<int*> count{"cuDeviceGetCount"};
  CudaFunction<cuda::Device*, int> device{"cuDeviceGet"};
  CudaFunction<char*, int, cuda::Device> name{"cuDeviceGetName"};
  CudaFunction<cuda::Uuid*, cuda::Device> uuid{"cuDeviceGetUuid"};
  CudaFunction<char*, int, cuda::Device> pci_address{"cuDeviceGetPCIBusId"};
  CudaFunction<cuda::Context*, unsigned, cuda::Device> make_context{"cuCtxCreate_v2"};
  CudaFunction<cuda::Context> end_context{"cuCtxDestroy_v2"};
  CudaFunction<cuda::Context> use_context{"cuCtxSetCurrent"};
  CudaFunction<> synchronize{"cuCtxSynchronize"};
  CudaFunction<std::size_t*, std::size_t*> memory{"cuMemGetInfo_v2"};
  CudaFunction<cuda::DevicePtr*, std::size_t> allocate{"cuMemAlloc_v2"};
  CudaFunction<cuda::DevicePtr> free{"cuMemFree_v2"};
  CudaFunction<cuda::DevicePtr, const void*, std::size_t> upload{"cuMemcpyHtoD_v2"};
  CudaFunction<void*, cuda::DevicePtr, std::size_t> download{"cuMemcpyDtoH_v2"};
  CudaFunction<cuda::DevicePtr, cuda::Context, cuda::DevicePtr, cuda::Context, std::size_t>
      copy_between{"cuMemcpyPeer"};
  CudaFunction<cuda::Module*, const void*> load{"cuModuleLoadData"};
  CudaFunction<cuda::Function*, cuda::Module, const char*> find{"cuModuleGetFunction"};
  CudaFunction<cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               cuda::Stream, void**, void**>
      launch{"cuLaunchKernel"};
  CudaFunction<int, const char**> error_name{"cuGetErrorName"};
  CudaFunction<int, const char**> error_text{"cuGetErrorString"};

 private:
  explicit CudaDriver(CheckWatch& watch) : watch_(watch) {}
  // Finds all functions.
  Status Load(void* library);
  Status StatusOf(std::string_view called, int result) const;
  StatusOr<CudaGpu> GpuAt(int ordinal);

  CheckWatch& watch_;
};

}  // namespace galen::active
