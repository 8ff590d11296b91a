// Devices that have a directory below /sys, looked at by the files that a table of rules names.
// Each device is read on a thread of its own, so that a file that never answers holds up no other
// device and never the loop. Belongs to its loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files/disk_queue.h"
#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"
#include "probes/sysfs/device_look.h"
#include "probes/sysfs/device_signs.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// Looks at devices again and again.
class SysfsProbe final : public Probe {
 public:
  // Each device has a thread: so many idle ones cost little, more are refused by the driver.
  static constexpr std::size_t kDevicesMax = 256;

  // All lent: they outlive the probe, and the files also each thread that hangs in one.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    const RuleTable& rules;
    const SysfsFiles& files;
    // Makes the thread that a device is read on.
    std::function<std::unique_ptr<DiskQueue>()> make_queue;
  };
  // Where devices are read, and how long a read may take.
  struct Options {
    std::string root = "/sys";
    // A read that takes longer makes its sign unknown until it returns. A register of a card is
    // read in microseconds, a sensor behind a slow bus in some hundred milliseconds.
    Duration patience = std::chrono::seconds(2);
    // Files that stay open from one look to the next, of all devices together.
    std::size_t kept_files_most = FilesToKeepOpen();
  };

  SysfsProbe(Parts parts, Options options);
  ~SysfsProbe() override;

  // The devices to look at from now on. REQUIRES: at most kDevicesMax, each with a name of its own.
  void SetDevices(const std::vector<SysfsDevice>& devices);
  // The device left just now, for all that is known: what a look that begins later finds in its
  // place is another one, however soon it was back.
  void NoteRemoved(const std::string& device);
  // Who gets what later looks show. Until then nothing is shown but by Observe.
  void Start(SignSink& sink) { sink_ = &sink; }
  // Begins a look at each device whose last one has ended, without waiting for it. Gives what
  // looks showed at once, and errors for what hangs; the rest goes to the sink.
  StatusOr<std::vector<Sign>> Observe() override;

 private:
  struct Look;
  // One device, and what its looks have shown.
  struct Watched {
    SysfsDevice device;
    DeviceSigns signs;
    std::unique_ptr<DiskQueue> queue;
    SysfsDirectory directory{};        // while no look is under way, which has it
    Look* look = nullptr;              // under way: its reading owns it, which ends with `queue`
    bool reported = false;             // that it hangs
    std::optional<Time> removed{};     // when, since the last look began
    std::map<std::string, Time> next;  // when a sign with `every` is read again
  };

  void Begin(Watched& watched);
  void OnLook(Watched& watched, const DeviceLook& result);
  // The signs whose time has come, of signs_.
  std::vector<const SignSpec*> Due(Watched& watched);
  void NoteHanging(Watched& watched, std::vector<Sign>& signs);
  void CountHanging();
  // Gives what came since to the sink, soon.
  void Flush();

  Parts parts_;
  const Options options_;
  // The table's signs. Shared with the threads: one that hangs may outlive the probe.
  const std::shared_ptr<const std::vector<SignSpec>> signs_;
  SignSink* sink_ = nullptr;
  std::map<std::string, Watched> watched_;  // by device
  std::vector<Sign> ready_;
  bool observing_ = false;
  std::optional<Time> flush_at_;
  Timer flush_;
  Liveness liveness_;
};

}  // namespace galen::probes
