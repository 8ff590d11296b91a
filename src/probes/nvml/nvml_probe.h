// The GPUs of a machine, looked at by NVML. Each has a thread of its own, so that one whose calls
// hang leaves the others as they are; XIDs have one more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/disk_queue.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "probes/nvml/nvml.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// Belongs to its loop.
class NvmlProbe final : public Probe {
 public:
  // Lent; they outlive the probe. A program that ends must not wait for the probe's threads: one in
  // a call that hangs never ends.
  struct Parts {
    Loop& loop;
    Log& log;
    Nvml& nvml;
    // Makes the queue of one GPU, or of the XIDs.
    std::function<std::unique_ptr<DiskQueue>()> make_queue;
  };
  // A call that takes longer is taken for hung: its GPU is Unknown until it returns. A healthy GPU
  // answers all reads within milliseconds, one that initialises within two seconds.
  static constexpr Duration kPatience = std::chrono::seconds(5);
  // How often the InfoROM is looked at, which is in flash memory.
  static constexpr Duration kDeepEvery = std::chrono::minutes(10);

  // `gpus` by the names of their devices.
  NvmlProbe(Parts parts, std::map<std::string, NvmlGpu> gpus);

  // Readings go to `readings` when they come, XIDs to `xids`, both from the loop. Call it once;
  // both outlive the probe. `partitions_changed` is called when a GPU's MIG mode or instances have
  // changed.
  void Start(SignSink& readings, SignSink& xids, std::function<void()> partitions_changed = {});
  // The GPU, with its MIG mode and instances as they were last seen; REQUIRES: there is such a
  // device.
  const NvmlGpu& GpuOf(const std::string& device) const;
  // Begins a read of each GPU that has none under way; gives only that NVML does not answer for a
  // GPU, or for XIDs.
  StatusOr<std::vector<Sign>> Observe() override;

 private:
  struct Gpu {
    std::string device;
    NvmlGpu gpu;
    std::optional<Time> began;  // of the read under way
    std::optional<Time> deep;   // when its InfoROM was looked at
    std::vector<Sign> signs;    // the read's, written by its thread while `began`
    // Likewise: whether it is cut into MIG instances, and into which.
    std::optional<bool> partitioned;
    std::optional<std::vector<NvmlPartition>> partitions;
    double links_up = 0;  // the most NVLinks that were up
    // The last read showed a mismatch of versions; a process before this one may have.
    bool mismatch = true;
    int refusals = 0;                                   // of its XIDs, by waits in a row
    bool xids_missed = false;                           // its last "nvml-events" has an error
    std::string xid_complaint{};                        // what the log said last of its XIDs
    std::map<std::string, double, std::less<>> events;  // last shown, by sign
    std::unique_ptr<DiskQueue> queue;  // last: its thread uses the others until it has ended
  };

  void Read(Gpu& gpu);
  void OnRead(Gpu& gpu);
  void TakePartitions(Gpu& gpu);
  // Whether the GPU's mode is another than it was.
  bool TakeMode(Gpu& gpu);
  // Keeps only what is new among signs that NVML shows at each read and the table takes as events;
  // a recovery action that is no longer asked for is an event of value 0.
  static void KeepNews(Gpu& gpu, std::vector<Sign>& signs);
  // Adds that versions match again, once.
  static void EndMismatch(Gpu& gpu, std::vector<Sign>& signs);
  void WaitForXids();
  void OnXids();
  void TakeXids(const std::vector<NvmlXid>& xids);
  void OnWaitFailed(const Status& status);
  // Shows which GPUs do not report their XIDs though others do.
  void NoteSilence(const NvmlXids& waited);
  // "nvml-events" of a GPU; without an error its XIDs are reported.
  Sign XidsReported(Gpu& gpu, const std::string& error) const;

  const Parts parts_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<std::string, const Gpu*> by_uuid_;
  SignSink* readings_ = nullptr;
  SignSink* xids_ = nullptr;
  std::function<void()> partitions_changed_;
  StatusOr<NvmlXids> waited_ = NvmlXids{};  // written by its thread
  int failed_waits_ = 0;                    // in a row
  std::optional<Time> wait_began_;          // of the wait under way
  Timer timer_;
  std::unique_ptr<DiskQueue> xid_queue_;
};

}  // namespace galen::probes
