// The demo's story: five things that happen to devices and programs, each must be seen on the Pod
// through the API, or the demo has failed. Belongs to its session's thread.
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
  // How the story is played.
  struct Settings {
    bool kernel_log = false;
  };

  // The arguments outlive the story.
  DemoStory(DemoStage& stage, DemoPrograms& programs, DemoScreen& screen, DemoPlace place,
            Settings settings)
      : stage_(stage),
        programs_(programs),
        screen_(screen),
        place_(std::move(place)),
        settings_(settings) {}

  // Plays all steps; the first one that is not seen ends it with a sentence that names it
  // (DeadlineExceeded). Once. REQUIRES: WaitForPods returned true.
  Status Play();

  // "GPU fault on the Pod: 6 ms", one for each measurement.
  const std::vector<std::string>& measured() const { return measured_; }

  // The Pods, claims and classes of the story, and the definition of NodeDeviceHealth.
  static std::string Manifest();
  // Waits until both drivers have reported their devices: a Pod made earlier would begin with an
  // Event that it cannot be scheduled. False when they do not.
  static bool WaitForDrivers(DemoStage& stage);
  // Waits until each Pod of the manifest shows its device as Healthy; false when they do not.
  static bool WaitForPods(DemoStage& stage);

 private:
  // What a Pod's line must show for a step to count as seen.
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

  // Makes the Pod's device show `sign` ("xid=79"); returns the driver's time of the sign.
  StatusOr<WallTime> InjectOn(const ObjectKey& pod, const std::string& sign);
  StatusOr<WallTime> WriteXidToKernelLog(const ObjectKey& pod);
  StatusOr<std::string> BusIdOf(const ObjectKey& pod);
  // The time from `start` until the API showed `expected` on `pod`.
  StatusOr<Duration> Seen(const ObjectKey& pod, const Expected& expected, WallTime start,
                          Duration limit);
  // Whether the Pod's line shows it now.
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

// One real sign of the machine that the demo runs on, since the story's hardware is simulated: the
// first of a sensor with a temperature, a PCIe link, and a network card below `sysfs_root`, and the
// driver that would report it. "" if there is none. Reads files, so it may wait for hardware.
std::string RealSign(const probes::SysfsFiles& files, const std::string& sysfs_root);

}  // namespace galen::cli
