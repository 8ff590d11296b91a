// NVIDIA's management library (NVML) as the driver uses it: which GPUs there are, what each shows,
// and the XIDs that it reports. The real one is NvmlLibrary; tests have FakeNvml, and the programs'
// tests a library of ours under NVIDIA's name (scripted_nvml.cc).
// https://docs.nvidia.com/deploy/nvml-api describes every function behind it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// More GPUs in one machine would be the answer of something broken; further ones are left out.
inline constexpr unsigned kNvmlGpusMax = 1024;

// MIG instances of one GPU; today's GPUs have up to seven.
inline constexpr unsigned kNvmlPartitionsMax = 64;

// A MIG device: a compute instance in a GPU instance, which programs get in the place of a GPU.
struct NvmlPartition {
  std::string uuid{};                               // "MIG-5f3c…", its own
  std::string profile{};                            // "1g.10gb", "1c.2g.20gb"
  unsigned gpu_instance = 0, compute_instance = 0;  // their numbers, of this GPU
  std::optional<std::uint64_t> memory{};            // bytes, where they are known
  std::optional<unsigned> multiprocessors{};        // likewise

  bool operator==(const NvmlPartition&) const = default;
};

// The facts of a GPU that last while its machine runs; its MIG mode and instances may change.
struct NvmlGpu {
  void* handle = nullptr;      // NVML's own; valid until the library is closed
  std::string uuid{};          // "GPU-7d4b…", the one thing that is the same after a reboot
  std::string serial{};        // of the board; "" where NVML knows none
  std::string model{};         // "NVIDIA H100 80GB HBM3"
  std::string pci_address{};   // "0000:4b:00.0", lower case as in sysfs
  std::optional<int> minor{};  // of /dev/nvidiaN, where it is known
  std::optional<std::uint64_t> memory{};  // bytes, where they are known
  bool is_partitioned = false;            // MIG is on: programs get parts of it, never the whole
  bool is_mode_unknown = false;           // nothing has said yet whether it is
  // The instances of the last look; they may be made and destroyed at any time.
  std::vector<NvmlPartition> partitions{};
  // Why nothing is known of it, as when it is lost; then all but its place in the list is empty.
  std::string error{};

  bool operator==(const NvmlGpu&) const = default;
};

// An XID as NVML's events bring it.
struct NvmlXid {
  std::string uuid{};  // of the GPU
  std::uint64_t number = 0;
  // The MIG instance that it is about, as Sign::part; "" of the whole GPU.
  std::string part{};

  bool operator==(const NvmlXid&) const = default;
};

// What a wait for XIDs brought.
struct NvmlXids {
  std::vector<NvmlXid> xids{};
  // GPUs whose XIDs would not have come, by UUID, and why. The next wait asks for them again.
  std::map<std::string, std::string> refused{};
  std::set<std::string> silent{};  // GPUs that never report XIDs by NVML, by UUID
};

// The extent of a read: the InfoROM is in flash memory, which is not read at each poll.
enum class NvmlDepth { kPoll, kAll };

// Every call may block, for ever if the GPU's firmware hangs (the kernel module waits in D state),
// so none is made on a loop. Calls from several threads at once are allowed, as by NVML.
class Nvml {
 public:
  virtual ~Nvml() = default;
  // "570.124.06".
  virtual StatusOr<std::string> DriverVersion() = 0;
  // All GPUs of the machine, by index; one that cannot be described has its error. A status: they
  // cannot be counted.
  virtual StatusOr<std::vector<NvmlGpu>> Gpus() = 0;
  // What the GPU shows now. Signs come without device and time, which the caller knows. What this
  // GPU or this version of the library does not have is left out; what could not be read has its
  // error. A GPU that is lost shows "gpu-lost" and nothing else.
  virtual std::vector<Sign> Read(const NvmlGpu& gpu, NvmlDepth depth) = 0;
  // Whether the GPU is cut into MIG instances now; nullopt: NVML does not say.
  virtual std::optional<bool> IsPartitioned(const NvmlGpu& gpu) = 0;
  // The MIG instances of a GPU that is cut, as they are now; nullopt: NVML does not say.
  virtual std::optional<std::vector<NvmlPartition>> Partitions(const NvmlGpu& gpu) = 0;
  // Waits for XIDs, at most `most`; none is no error. Unimplemented: this library reports none.
  // After another error the next call asks for the XIDs anew, of those GPUs that still answer.
  virtual StatusOr<NvmlXids> WaitForXids(Duration most) = 0;
};

}  // namespace galen::probes
