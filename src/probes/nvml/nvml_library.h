// libnvidia-ml.so.1, loaded at run time.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "probes/nvml/nvml.h"

namespace galen::probes {

struct NvmlFunctions;

// The real NVML. Any thread may call it; calls block for as long as the kernel module does.
class NvmlLibrary final : public Nvml {
 public:
  // Loads and initialises the library: a path, or a name that the dynamic linker looks for. Blocks.
  // NotFound: there is no such library, or it is none of NVML; FailedPrecondition: NVIDIA's kernel
  // module is not loaded or not of this version. Both say what to do.
  static StatusOr<std::unique_ptr<NvmlLibrary>> Open(const std::string& path);
  ~NvmlLibrary() override;

  StatusOr<std::string> DriverVersion() override;
  StatusOr<std::vector<NvmlGpu>> Gpus() override;
  std::vector<Sign> Read(const NvmlGpu& gpu, NvmlDepth depth) override;
  StatusOr<std::vector<NvmlXid>> WaitForXids(Duration most) override;

 private:
  explicit NvmlLibrary(std::unique_ptr<NvmlFunctions> functions);

  NvmlGpu GpuAt(unsigned index);
  // Asks for the XIDs of all GPUs that answer.
  Status Subscribe();

  std::unique_ptr<NvmlFunctions> functions_;
  // Only the thread that waits for XIDs touches these, after Gpus() was called.
  void* events_ = nullptr;
  std::map<void*, std::string> uuids_;  // by handle
};

}  // namespace galen::probes
