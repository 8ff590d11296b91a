// GPUs that show what a test says.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/nvml/nvml.h"

namespace galen::probes {

// Not blocking and without threads: a FakeDiskQueue decides when a call happens.
class FakeNvml final : public Nvml {
 public:
  StatusOr<std::string> DriverVersion() override { return std::string("570.124.06"); }
  StatusOr<std::vector<NvmlGpu>> Gpus() override { return gpus; }
  std::vector<Sign> Read(const NvmlGpu& gpu, NvmlDepth depth) override {
    depths.push_back(depth);
    std::vector<Sign> signs = shows[gpu.uuid];
    const auto lost = std::ranges::find(signs, "gpu-lost", &Sign::name);
    if (lost != signs.end()) return {*lost};
    // The InfoROM is not read at each poll.
    if (depth == NvmlDepth::kPoll) {
      std::erase_if(signs, [](const Sign& sign) { return sign.name == "inforom-broken"; });
    }
    return signs;
  }
  std::optional<bool> IsPartitioned(const NvmlGpu& gpu) override {
    const auto said = partitioned.find(gpu.uuid);
    return said != partitioned.end() ? said->second : std::optional(gpu.is_partitioned);
  }
  std::optional<std::vector<NvmlPartition>> Partitions(const NvmlGpu& gpu) override {
    return partitions[gpu.uuid];
  }
  StatusOr<NvmlXids> WaitForXids(Duration) override {
    if (!fails.ok()) return fails;
    const StatusOr<std::vector<NvmlXid>> come = std::exchange(xids, std::vector<NvmlXid>{});
    if (!come.ok()) return come.status();
    return NvmlXids{.xids = *come, .refused = refused, .silent = silent};
  }

  std::vector<NvmlGpu> gpus;
  std::map<std::string, std::vector<Sign>> shows;  // by uuid
  // MIG instances, by the GPU's uuid; nullopt: not known.
  std::map<std::string, std::optional<std::vector<NvmlPartition>>> partitions;
  // Where it is not as it was, by uuid; nullopt: not known.
  std::map<std::string, std::optional<bool>> partitioned;
  std::vector<NvmlDepth> depths;                                 // of all reads
  StatusOr<std::vector<NvmlXid>> xids = std::vector<NvmlXid>{};  // of the next wait
  Status fails;                                                  // all waits, while not OK
  std::map<std::string, std::string> refused;                    // as in NvmlXids
  std::set<std::string> silent;                                  // likewise
};

}  // namespace galen::probes
