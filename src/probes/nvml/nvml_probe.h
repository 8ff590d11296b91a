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
  // Lent; they outlive the probe, and what blocks in `nvml` outlives neither (see idle()).
  struct Parts {
    Loop& loop;
    Log& log;
    Nvml& nvml;
    // A queue of its own for whom it is called.
    std::function<std::unique_ptr<DiskQueue>()> make_queue;
  };
  // A call that takes longer is taken for hung: its GPU is Unknown until it returns. A healthy GPU
  // answers all reads within milliseconds, one that initialises within two seconds.
  static constexpr Duration kPatience = std::chrono::seconds(5);
  // How often the InfoROM is looked at, which is in flash memory.
  static constexpr Duration kDeepEvery = std::chrono::minutes(10);

  // `gpus` by the names of their devices.
  NvmlProbe(Parts parts, std::map<std::string, NvmlGpu> gpus);

  // What was read goes to `readings` when it comes, XIDs to `xids`, both from the loop. Once;
  // both outlive the probe.
  void Start(SignSink& readings, SignSink& xids);
  // Begins a read of each GPU that has none under way; gives only what is known of those that do
  // not answer.
  StatusOr<std::vector<Sign>> Observe() override;
  // Whether no call is under way but a wait for XIDs that ends by itself. A program that ends while
  // a call hangs must not wait for its thread.
  bool idle() const;

 private:
  struct Gpu {
    std::string device;
    NvmlGpu gpu;
    std::optional<Time> began;  // of the read under way
    std::optional<Time> deep;   // when its InfoROM was looked at
    std::vector<Sign> signs;    // the read's, written by its thread while `began`
    double links_up = 0;        // the most NVLinks that were up
    std::map<std::string, double, std::less<>> events;  // last shown, by sign
    std::unique_ptr<DiskQueue> queue;  // last: its thread uses the others until it has ended
  };

  void Read(Gpu& gpu);
  void OnRead(Gpu& gpu);
  // Whether it says what it said at the last read. NVML shows these at each read, the table takes
  // them as events.
  static bool IsRepeated(Gpu& gpu, const Sign& sign);
  void WaitForXids();
  void OnXids();

  const Parts parts_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<std::string, std::string> device_of_uuid_;
  SignSink* readings_ = nullptr;
  SignSink* xids_ = nullptr;
  StatusOr<std::vector<NvmlXid>> waited_ = std::vector<NvmlXid>{};  // written by its thread
  bool xids_failed_ = false;                                        // said so
  std::optional<Time> wait_began_;                                  // of the wait under way
  Timer timer_;
  std::unique_ptr<DiskQueue> xid_queue_;
};

}  // namespace galen::probes
