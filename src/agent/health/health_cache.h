// The present health of every device that drivers of this node reported, and until when it holds.
// Belongs to the agent's loop and reads no clock: every verb takes the time. Each verb returns the
// devices whose finding changed; a report that only repeats returns none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/health/report_decoder.h"
#include "agent/health/timeout_policy.h"
#include "model/health.h"

namespace galen::agent {

class HealthCache {
 public:
  // One device. `health` is what is shown, not what was last reported: silence changes it.
  struct Entry {
    DeviceHealth health;
    DeviceFacts facts;
    // When silence makes it Unknown; null: never, or it is Unknown already.
    std::optional<Time> deadline;
    // Its driver went, and it has not become Unknown yet: Expire takes it next.
    bool dropped = false;
    Time reported{};           // when a driver last reported it; meaningless before one did
    std::uint64_t report = 0;  // the number of that report of its driver; 0: restored from disk
    // How long its report holds, and who decided that; zero: until the next report.
    EffectiveTimeout timeout;
    // What it was before silence, so that a fault which only paused keeps its first time; null for
    // most.
    std::unique_ptr<DeviceHealth> before_silence;
    bool doubtful = false;  // as restored, until a driver reports it

    // Unknown, with no report that still holds.
    bool silent() const { return health.state == HealthState::kUnknown && !deadline && !dropped; }
  };

  // The most devices of all drivers together: as many as one report may have, as one driver of the
  // SDK may have, as the largest node in docs/guide/figures.md has, and as a metric may have
  // series. Beyond it a new device replaces the driver's longest silent one; else, if its driver
  // has fewer devices than another, the longest silent or else the last device of the driver that
  // has most; else it is left out and counted. So drivers that make up names fill no memory, and
  // take no room from one with few devices.
  static constexpr std::size_t kDevicesMax = kNodeDevicesMax;
  // How many devices Expire and Drop change at a time, so that the loop can serve others in
  // between.
  static constexpr std::size_t kSilencedAtOnceMax = 128;

  explicit HealthCache(std::vector<TimeoutRule> rules) : rules_(std::move(rules)) {}

  // Restores a device from the last run of the agent: its health holds until its deadline, counted
  // from `now`, so that a restart by itself makes nothing Unknown. Once, before any report.
  // `doubtful`: newer records may have been lost, so if the driver repeats this state, the driver's
  // time of its begin is taken.
  void Restore(const DeviceHealth& health, Time now, bool doubtful);
  // What a device was before it fell silent, if it was silent already when this agent last ran.
  // Call after its Restore.
  void RestoreBeforeSilence(const DeviceHealth& before);

  // The driver reported at `now`, which may lie a little back; `wall` dates changes whose sign has
  // no time. Devices that the report leaves out keep their health until their deadline. A device
  // that has to make room for another driver's becomes Unknown, and is among the changes.
  std::vector<HealthChange> Apply(const DecodedReport& report, Time now, WallTime wall);
  // Devices whose deadline has come become Unknown, kSilencedAtOnceMax of them; NextDeadline says
  // that more are due.
  std::vector<HealthChange> Expire(Time now, WallTime wall);
  // Nobody reports the driver's devices any more: Unknown at once, with this cause; those past
  // `most` by Expire. Repeated with the same code, it changes nothing.
  std::vector<HealthChange> Drop(const std::string& driver, const Cause& cause, WallTime wall,
                                 std::size_t most = kSilencedAtOnceMax);
  // Whether the driver's stream is open, which decides whether silence is called DriverSilent or
  // DriverGone. Changes no device by itself. True when the value changed.
  bool SetConnected(const std::string& driver, bool connected);
  // Forgets the device, as if it had never been reported.
  void Forget(const DeviceId& id);

  // When Expire is to be called next; nullopt: never, as things are. Looks at every device.
  std::optional<Time> NextDeadline() const;
  // nullptr when it was never reported. Pointers hold until the next verb.
  const Entry* Find(const DeviceId& id) const;
  const std::map<DeviceId, Entry>& entries() const { return entries_; }
  // Whether all that is known of this driver's devices dates from before this agent's start.
  bool HoldsOnlyRestored(const std::string& driver) const;
  // How often a device was left out at kDevicesMax since the start.
  std::size_t left_out() const { return left_out_; }
  // Whether the driver's last report had devices that are left out, so that a device which it does
  // not show may be one of them.
  bool LeavesOut(const std::string& driver) const;
  // How many devices were looked at since the start in search of a silent one.
  std::size_t searched() const { return searched_; }
  // Devices that had to make room and must be forgotten elsewhere too; the call empties the list.
  std::vector<DeviceHealth> TakeEvicted() { return std::exchange(evicted_, {}); }

 private:
  using Entries = std::map<DeviceId, Entry>;
  struct Driver {
    std::size_t devices = 0;
    std::uint64_t reports = 0;
    bool connected = false;
    std::uint64_t last_report_left_out = 0;  // the last report with devices that were left out
    bool may_have_silent = false;
    Cause dropped;  // why the driver went
  };

  Entries::iterator FirstOf(const std::string& driver);
  // nullptr when the driver has no room for another device.
  Entry* FindOrAdd(const DeviceId& id, WallTime wall);
  bool MakeRoom(const std::string& driver, WallTime wall);
  // Removes the driver's device that has been silent for longest, if there is one.
  bool EvictSilent(const std::string& driver);
  void Evict(const DeviceId& id);
  void Displace(const DeviceId& id, WallTime wall);
  // The change that the driver's report of one device makes, if any.
  std::optional<HealthChange> TakeReport(Entry& entry, const DeviceHealth& reported, WallTime wall);
  // Makes the device Unknown and remembers what it was.
  HealthChange Silence(Entry& entry, Cause cause, WallTime wall);
  // The cause of a device that becomes Unknown; `dropped`: because its driver was dropped, else
  // because its deadline passed.
  Cause SilenceOf(const Entry& entry, bool dropped) const;

  const std::vector<TimeoutRule> rules_;
  Entries entries_;
  std::map<std::string, Driver> drivers_;
  std::vector<DeviceHealth> evicted_;
  std::vector<HealthChange> displaced_;  // the displaced devices that had been reported
  std::size_t left_out_ = 0, searched_ = 0;
};

// The cause of a reported device that is left out for lack of room.
Cause LeftOutCause();

// The health of a device that was never reported.
DeviceHealth NotReportedHealth(const DeviceId& id);

}  // namespace galen::agent
