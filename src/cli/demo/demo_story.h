// The demo's story: five things that happen to devices and programs, each seen on the Pod through
// the API or the demo has failed. Belongs to its session's thread.
#pragma once

#include <string>
#include <vector>

#include "cli/demo/demo_programs.h"
#include "cli/demo/demo_screen.h"
#include "cli/demo/demo_stage.h"
#include "probes/sysfs/sysfs_files.h"

namespace galen::cli {

class DemoStory {
 public:
  struct Settings {
    bool kernel_log = false;
  };

  // What is lent outlives the story.
  DemoStory(DemoStage& stage, DemoPrograms& programs, DemoScreen& screen, DemoPlace place,
            Settings settings)
      : stage_(stage),
        programs_(programs),
        screen_(screen),
        place_(std::move(place)),
        settings_(settings) {}

  // Plays it through; the first step that was not seen ends it with a sentence that says which
  // (DeadlineExceeded). Once. REQUIRES: WaitForPods gave true.
  Status Play();

  // "GPU fault on the Pod: 6 ms", one a measurement.
  const std::vector<std::string>& measured() const { return measured_; }

  // The Pods, claims and classes that the story is about, and the definition of NodeDeviceHealth.
  static std::string Manifest();
  // Waits until both drivers have reported their devices: a Pod made earlier would begin with an
  // Event that it cannot be scheduled. False when they do not.
  static bool WaitForDrivers(DemoStage& stage);
  // Waits until each Pod of the manifest says that its device is Healthy; false when they do not.
  static bool WaitForPods(DemoStage& stage);

 private:
  // What a Pod's line must say for a step to be seen.
  struct Expected {
    std::string health;
    std::string message;  // a part of it; "" = any
  };

  Status GpuFallsOffTheBus();
  Status TemperatureClimbsAndFalls();
  Status LinkGoesDownAndUp();
  Status DriverDies();
  Status AgentDies();
  Status AgentShowsTheRecovery(const std::string& before, Duration shown);
  Status Changed(const std::string& before) const;
  Status WaitForReportOf(const ObjectKey& pod);
  bool AgentGotReportOf(const DeviceId& device);

  // Makes the Pod's device show `sign` ("xid=79"); the time at which the driver says it did.
  StatusOr<WallTime> InjectOn(const ObjectKey& pod, const std::string& sign);
  StatusOr<WallTime> WriteXidToKernelLog(const ObjectKey& pod);
  StatusOr<std::string> BusIdOf(const ObjectKey& pod);
  // The time from `start` until the API showed that `pod` says `expected`.
  StatusOr<Duration> Seen(const ObjectKey& pod, const Expected& expected, WallTime start,
                          Duration limit);
  // Whether the Pod's line says it now.
  bool Says(const ObjectKey& pod, const Expected& expected) const;
  void Finish(int step, const std::string& text);
  void Measure(const std::string& what, Duration took);

  DemoStage& stage_;
  DemoPrograms& programs_;
  DemoScreen& screen_;
  const DemoPlace place_;
  const Settings settings_;
  std::vector<std::string> measured_;
};

// One real sign of the machine that the demo runs on: the story's hardware is simulated, this is
// not. What one thing below `sysfs_root` shows, and which driver would report it: the first of a
// sensor with a temperature, a PCIe link, and a network card. "" where there is none of these.
// Reads files, so it may wait for hardware.
std::string RealSign(const probes::SysfsFiles& files, const std::string& sysfs_root);

}  // namespace galen::cli
