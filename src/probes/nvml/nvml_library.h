// libnvidia-ml.so.1, loaded at run time; and what NVIDIA's kernel module shows without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

struct NvmlFunctions;

// The real NVML. Any thread may call it; calls block for as long as the kernel module does.
class NvmlLibrary final : public Nvml {
 public:
  // Looks at the kernel module now. Called from any thread.
  using LookAtModule = std::function<NvmlModule()>;

  // Loads and initialises the library: a path, or a name that the dynamic linker looks for. Blocks.
  // NotFound: there is no such library, or it is not NVML; FailedPrecondition: NVIDIA's kernel
  // module is not loaded. Both say what to do.
  // A module of another version is no error where `module` shows its GPUs: until both match, Gpus
  // are those of the module, and Read shows nothing but the two versions ("kernel-module").
  static StatusOr<std::unique_ptr<NvmlLibrary>> Open(const std::string& path, LookAtModule module);
  ~NvmlLibrary() override;

  StatusOr<std::string> DriverVersion() override;
  StatusOr<std::vector<NvmlGpu>> Gpus() override;
  std::vector<Sign> Read(const NvmlGpu& gpu, NvmlDepth depth) override;
  std::optional<bool> IsPartitioned(const NvmlGpu& gpu) override;
  std::optional<std::vector<NvmlPartition>> Partitions(const NvmlGpu& gpu) override;
  StatusOr<NvmlXids> WaitForXids(Duration most) override;

 private:
  NvmlLibrary(std::unique_ptr<NvmlFunctions> functions, std::string version, LookAtModule module,
              bool ready);

  // Whether NVML is initialised; tries again where its version did not match the module's, one
  // thread at a time: the others get what was true before.
  bool Ready();
  // The sign of a mismatch, with both versions.
  Sign Mismatch() const;
  NvmlGpu GpuAt(unsigned index);
  // Asks for the XIDs of all GPUs that answer. Leaves a set of events, or none.
  Status Subscribe();
  // Asks those that do not report theirs yet; how many do from now on.
  std::size_t Ask();
  // Who does not report them now, or never will; without XIDs.
  NvmlXids NotReporting() const;

  std::unique_ptr<NvmlFunctions> functions_;
  const std::string version_;  // of the library; "" = its file's name does not say
  const LookAtModule module_;
  // Read and set by the thread of each GPU.
  std::atomic<bool> ready_;
  std::atomic_flag trying_;  // one of them initialises, which may take seconds
  // Only the thread that waits for XIDs touches these, after Gpus() was called.
  void* events_ = nullptr;
  std::map<void*, std::string> uuids_;  // by handle
  std::map<void*, int> unasked_;        // GPUs that may yet report theirs, with what NVML said
  std::set<void*> silent_;              // GPUs that never will
};

}  // namespace galen::probes
