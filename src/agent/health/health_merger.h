// Where what a driver reports of its devices and what a health source reports of the same hardware
// become one finding. A health source looks at hardware whose driver has no health, or not all of
// it; it names devices in its own way, and this finds out whose they are. Belongs to the
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

// How the devices of one driver and of its health source go together: by what the hardware says of
// itself, never by names, of which each side has its own.
struct DeviceMatches {
  struct Match {
    DeviceId source;         // the device of the health source
    bool partition = false;  // the driver's device is a part of it
    bool operator==(const Match&) const = default;
  };
  std::map<DeviceId, Match> found;  // by the driver's device
  // Why a driver's device has none although something matches: what contradicts what, and what to
  // do. By the driver's device.
  std::map<DeviceId, std::string> refused;
  bool operator==(const DeviceMatches&) const = default;
};

// `offered` are the driver's devices by its ResourceSlices, `probed` those of its health source.
// Two are one if the first of these that both sides have is equal: UUID, PCI address, serial; and
// none of the others contradicts it. A device with a parent's UUID is a partition: it goes with
// what has its own UUID, else with the parent, as many others may. Otherwise an id decides nothing
// if two devices of one side have it, unless they are of different types: drivers offer one GPU in
// several forms (NVIDIA's "gpu" and "vfio"). What matches nothing is in neither map.
// Pure.
DeviceMatches MatchDevices(const std::map<DeviceId, HardwareIds>& offered,
                           const std::map<DeviceId, HardwareIds>& probed);

// The finding of two that are about the same device, each null when nothing was ever reported: what
// is known counts more than Unknown, of two that are known the worse, and the driver's own where
// both are equally bad and it gives a cause. Its sentence says whose it is, save the driver's own
// where nobody contradicts. Pure.
DeviceHealth MergedHealth(const DeviceHealth* driver, const DeviceHealth* source);

// Stands between the drivers' streams and the keeper. A driver without a health source passes
// through untouched; from a source's first report on, its driver's reports are kept apart from the
// source's, each with deadlines of its own, and the keeper gets what both together say.
class HealthMerger {
 public:
  // The devices that a driver offers on this node now.
  using Offered = std::function<std::map<DeviceId, HardwareIds>(const std::string& driver)>;
  // Whether a health source of the driver is on this node, or may be: what its socket is for is
  // not known yet.
  using Awaited = std::function<bool(const std::string& driver)>;
  struct Edges {
    Loop& loop;
    Log& log;
    HealthKeeper& keeper;
  };
  // How long a fault from before the agent's start stands while one side reports and the other has
  // not yet: a source that is there connects and reports within a second. Less than any restored
  // finding holds by itself with the default timeout.
  static constexpr Duration kRestoredHold = std::chrono::seconds(10);

  // What is lent outlives this.
  HealthMerger(Edges edges, const std::vector<TimeoutRule>& rules, Offered offered,
               Awaited awaited);

  // Takes what drivers report, or the kubelet in their place.
  HealthSink& drivers() { return driver_side_; }
  // Takes what health sources report; "driver" is there the driver that a source is for.
  HealthSink& sources() { return source_side_; }

  // Slices may be others than before: devices are matched anew, and those that got other names
  // take their health with them.
  void OnSlicesChanged();
  // Whether reports of a health source concern the driver's devices.
  bool HasSource(const std::string& driver) const;
  // Why a health source says nothing of the device, as a sentence; "" when it does, or when its
  // driver has none.
  std::string WhyNotMatched(const DeviceId& id) const;
  // The keeper forgot the device: one that its driver offers no more is the source's no more.
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
    // The source's devices, with the number of the report that had them last. A source reports all
    // that it has each time: what is in none of the last two is no device of it any more, and after
    // another instance has taken over, what is not in the first.
    std::map<DeviceId, HardwareIds> probed;
    std::map<DeviceId, std::uint64_t> seen;
    std::uint64_t reports = 0;
    bool others = false;  // the source's devices are others than at the last match
    // By the slices now; and of devices that have left the slices while the source still sees their
    // hardware, as before: a driver that dies, or that withdraws a GPU which broke, takes no fault
    // away from the Pods that hold it.
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
  // From now on the driver has a source; what it reported itself so far is taken over.
  Joined& Join(const std::string& driver);
  // Takes note of which devices the source has. What it has no more shows at the end of a report.
  void TakeProbed(Joined& joined, const DecodedReport& report);
  void DropGone(Joined& joined);
  // Finds out anew whose the source's devices are, and hands on what that changes.
  void Match(const std::string& driver, Joined& joined);
  void LogRefused(const std::string& driver, const DeviceMatches& matches);
  // Hands what both sides say of these devices to the keeper; the number that changed.
  std::size_t Publish(const std::string& driver, const std::vector<DeviceId>& devices,
                      Time reported, bool continues = false);
  // What the source reported of the driver's device; nullptr: nothing.
  const HealthCache::Entry* SeenOf(const Joined& joined, const DeviceId& id) const;
  // Whether what was known before the agent's start stands, given what each side reported since.
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
  // At most as many as sockets of health sources, and drivers of which faults were restored.
  std::map<std::string, Joined> joined_;
  std::map<DeviceId, std::string> logged_;  // refusals
  Timer deadline_;
};

}  // namespace galen::agent
