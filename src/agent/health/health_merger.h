// Where what a driver reports of its devices and what a health source reports of the same hardware
// become one finding. A health source looks at hardware whose driver has no health, or not all of
// it; it names devices in its own way, and this finds the driver's devices that they are. Belongs
// to the
// agent's loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/health/health_cache.h"
#include "agent/health/health_keeper.h"
#include "agent/health/health_sink.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "model/device.h"
#include "model/hardware_ids.h"

namespace galen::agent {

// Which devices of a driver and of its health source are the same: found by hardware identifiers,
// never by names, since each side has its own.
struct DeviceMatches {
  // The source's device for one of the driver's.
  struct Match {
    DeviceId source;         // the device of the health source
    bool partition = false;  // the driver's device is a part of it
    bool operator==(const Match&) const = default;
  };
  std::map<DeviceId, Match> found;  // by the driver's device
  // Why a driver's device is not matched although an identifier matches: the contradiction, and
  // what to do. By the driver's device.
  std::map<DeviceId, std::string> refused;
  bool operator==(const DeviceMatches&) const = default;
};

// `offered` are the driver's devices by its ResourceSlices, `probed` those of its health source.
// Two are the same device if the first identifier that both have is equal (UUID, PCI address,
// serial) and no other one contradicts it. A device with a parent's UUID is a partition: it is
// matched to the source's device with its own UUID, else to the parent, which several partitions
// may share. Otherwise an id decides nothing if two devices of one side have it, unless they are of
// different types: drivers offer one GPU in several forms (NVIDIA's "gpu" and "vfio"). What matches
// nothing is in neither map.
// Pure.
DeviceMatches MatchDevices(const std::map<DeviceId, HardwareIds>& offered,
                           const std::map<DeviceId, HardwareIds>& probed);

// The finding of two that are about the same device, each null when never reported. A known state
// counts more than Unknown, then the worse one, then the driver's if both are equally bad and it
// gives a cause. The sentence says who reported it, unless it is the driver's and nothing
// contradicts it. Pure.
DeviceHealth MergedHealth(const DeviceHealth* driver, const DeviceHealth* source);

// Stands between the drivers' streams and the keeper. A driver without a health source passes
// through untouched; from a source's first report on, its driver's reports are kept apart from the
// source's, each with deadlines of its own, and the keeper gets what both together say.
class HealthMerger {
 public:
  // The devices that a driver offers on this node now.
  using Offered = std::function<std::map<DeviceId, HardwareIds>(const std::string& driver)>;
  // Whether the driver has a health source on this node, or may have one: some source's socket has
  // not said yet which driver it is for.
  using Awaited = std::function<bool(const std::string& driver)>;
  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Log& log;
    HealthKeeper& keeper;
  };
  // How long a fault from before the agent's start stands while one side reports and the other has
  // not yet: a source that is there connects and reports within a second. Shorter than a restored
  // finding holds with the default timeout.
  static constexpr Duration kRestoredHold = std::chrono::seconds(10);

  // The arguments outlive this.
  HealthMerger(Edges edges, const std::vector<TimeoutRule>& rules, Offered offered,
               Awaited awaited);

  // Takes what drivers report, or the kubelet in their place.
  HealthSink& drivers() { return driver_side_; }
  // Takes what health sources report; "driver" is there the driver that a source is for.
  HealthSink& sources() { return source_side_; }

  // The slices changed: devices are matched anew, and a device that got another name keeps its
  // health.
  void OnSlicesChanged();
  // Whether reports of a health source concern the driver's devices.
  bool HasSource(const std::string& driver) const;
  // Why a health source reports nothing of the device, as a sentence; "" when it does, or when its
  // driver has none.
  std::string WhyNotMatched(const DeviceId& id) const;
  // The keeper forgot the device: if its driver does not offer it any more, its match is dropped
  // too.
  void OnForgotten(const DeviceId& id);

 private:
  // One of the two sides, as the plugin managers see it.
  class Side final : public HealthSink {
   public:
    Side(HealthMerger& merger, bool source) : merger_(merger), source_(source) {}
    std::size_t OnReport(const DecodedReport& report, Time reported) override;
    bool HasRoom() const override { return merger_.edges_.keeper.HasRoom(); }
    void OnDriverConnected(const std::string& driver) override;
    void OnDriverSilent(const std::string& driver, const Cause& why) override;
    void Forget(const DeviceId& id, const std::string& why) override;

   private:
    HealthMerger& merger_;
    const bool source_;
  };
  // A driver with a health source, or one that may have one.
  struct Joined {
    bool source_reported = false, driver_reported = false;
    // The source's devices, with the number of the last report that had them. A source reports all
    // its devices each time: one that was in neither of the last two reports is gone, and after
    // another instance has taken over, one that is not in its first report.
    std::map<DeviceId, HardwareIds> probed;
    std::map<DeviceId, std::uint64_t> seen;
    std::uint64_t reports = 0;
    bool others = false;  // the source's devices have changed since the last match
    // The matches by the present slices. Devices that have left the slices keep their match while
    // the source still sees their hardware: when a driver dies or withdraws a broken GPU, the Pods
    // that hold it keep showing the fault.
    DeviceMatches matches;
    std::map<DeviceId, std::vector<DeviceId>> by_source;  // the driver's devices, by the source's
    // Devices with a fault from before the agent's start, until both sides have reported them.
    std::set<DeviceId> held;
    Timer release;
  };

  std::size_t OnDriverReport(const DecodedReport& report, Time reported);
  std::size_t OnSourceReport(const DecodedReport& report, Time reported);
  void OnDriverSilent(const std::string& driver, const Cause& why);
  void OnSourceSilent(const std::string& driver, const Cause& why);
  // From now on the driver has a source; the driver's own reports so far are taken over.
  Joined& Join(const std::string& driver);
  // Records which devices the source has. Which it no longer has is known at the end of a report.
  void TakeProbed(Joined& joined, const DecodedReport& report);
  void DropGone(Joined& joined);
  // Matches the source's devices anew, and publishes what that changes.
  void Match(const std::string& driver, Joined& joined);
  void LogRefused(const std::string& driver, const DeviceMatches& matches);
  // Hands the merged health of these devices to the keeper; returns the number that changed.
  std::size_t Publish(const std::string& driver, const std::vector<DeviceId>& devices,
                      Time reported, bool continues = false);
  // What the source reported of the driver's device; nullptr when nothing.
  const HealthCache::Entry* SeenOf(const Joined& joined, const DeviceId& id) const;
  // Whether the state from before the agent's start still holds, given what each side has reported
  // since.
  bool Holds(Joined& joined, const DeviceId& id, const HealthCache::Entry* own,
             const HealthCache::Entry* seen);
  void PublishHeld(const std::string& driver);
  void EndHold(const std::string& driver);
  void PublishChanged(const std::vector<HealthChange>& driver_changes,
                      const std::vector<HealthChange>& source_changes);
  void Expire();
  // Sets the timer for the next deadline of either side.
  void Arm();

  Edges edges_;
  const Offered offered_;
  const Awaited awaited_;
  Side driver_side_{*this, false}, source_side_{*this, true};
  HealthCache driver_cache_;  // of drivers in joined_
  HealthCache source_cache_;  // by the source's own names
  // At most as many as there are sockets of health sources and drivers with restored faults.
  std::map<std::string, Joined> joined_;
  std::map<DeviceId, std::string> logged_;  // refusals that were logged
  Timer deadline_;
};

}  // namespace galen::agent
