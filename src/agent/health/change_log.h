// The record of what happened to devices and Pods: written before it is published, read back after
// a restart. The real one is HistoryLog; one in memory serves tests. Belongs to the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/health/report_decoder.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::agent {

// A container of a Pod that holds devices ended.
struct Crash {
  PodRef pod;
  std::string text;  // "container train, exit 134"
  WallTime time{};
};

// A Pod that was given a device.
struct Assignment {
  PodRef pod;
  DeviceHealth health;  // of the device, as it was then
  bool found = false;   // the agent found the Pod with it at its start; since when is unknown

  bool operator==(const Assignment&) const = default;
};

// How a Pod came to show a device's health.
struct Publication {
  // Time since the sign, which may be long ago: a driver that reconnects repeats what it found
  // before.
  Duration after_sign{};
  bool annotated = true;  // false: the annotation follows
};

// A step that led to a device's state, worded for `galen why`.
struct Step {
  WallTime time{};
  std::string kind;  // as in docs/formats/journal.md: "sign", "change", "crash", …
  std::string text;
  std::string source;
  DeviceId device;           // all empty: of no single device
  std::string message = {};  // of a change: the sentence of the cause that it brought

  bool operator==(const Step&) const = default;
};

// Until when steps count as those of a Pod that has ended.
struct Ending {
  WallTime had_devices = WallTime::min();  // steps of its devices; min: not known, so none counts
  WallTime until = WallTime::max();        // steps of their drivers
};

// Whether a change was on disk before it was published: yes, unless the disk hangs or fails.
enum class OnDisk { kBeforePublished, kAfterPublished };

class ChangeLog {
 public:
  virtual ~ChangeLog() = default;

  // These calls only gather; Sync writes. None fails: what a full disk refuses is kept in memory.
  // `report` is the number of the driver's report that brought the change; 0 when no report of this
  // process brought it.
  virtual void Changed(const HealthChange& change, const DeviceFacts& facts, std::uint64_t report,
                       WallTime now) = 0;
  // The changes are on disk. Written with the next Sync; nobody waits for it.
  virtual void Kept(const std::vector<HealthChange>& changes, OnDisk when, WallTime now) = 0;
  // The Pod shows this health now.
  virtual void Published(const PodRef& pod, const DeviceHealth& health, const Publication& how,
                         WallTime now) = 0;
  // The Pod has the device from now on. False, and nothing is written, when that was noted before:
  // by an earlier process, say.
  virtual bool Assigned(const Assignment& assignment, WallTime now) = 0;
  // `devices` are those that the Pod held; the crash may belong to one of their incidents.
  virtual void Crashed(const Crash& crash, const std::vector<DeviceId>& devices) = 0;
  // The driver is connected, or not any more.
  virtual void DriverConnected(const std::string& driver, WallTime now) = 0;
  virtual void DriverLost(const std::string& driver, const std::string& why, WallTime now) = 0;
  // This process begins to listen to drivers, or ends in order.
  virtual void AgentStarted(WallTime now) = 0;
  virtual void AgentStopped(WallTime now) = 0;
  // The device has left the node.
  virtual void Forget(const DeviceId& device, const std::string& why, WallTime now) = 0;
  // Called with OK once everything gathered before the call survives a power cut, or with why it
  // does not: then it waits for the next Sync. Answers come in the order of calls, perhaps inside
  // them, and not after the log was destroyed.
  using Synced = std::function<void(const Status& status)>;
  virtual void Sync(Synced done) = 0;

  // Whether something that was written was lost before this process could read it.
  virtual bool has_gaps() const = 0;
  // Every device as it was written last.
  virtual std::vector<DeviceHealth> Devices() const = 0;
  // Each device that is Unknown only because its driver does not report, as it was last reported.
  virtual std::vector<DeviceHealth> BeforeSilence() const = 0;
  // The steps of a Pod, of these devices and of their drivers, oldest first, the newest
  // kStepsMax. Without a uid, as for one that is gone: of every Pod that had the name.
  virtual std::vector<Step> StepsOf(const PodRef& pod,
                                    const std::vector<DeviceId>& devices) const = 0;
  // The same for a Pod that has ended, whose `devices` another Pod may have by now. Returns the
  // steps of each device from when this Pod got it until `ending.had_devices`, later ones only
  // where they belong to an incident of this Pod, and those of the devices' drivers from the Pod's
  // first step until `ending.until`.
  virtual std::vector<Step> StepsOfEnded(const PodRef& pod, const std::vector<DeviceId>& devices,
                                         const Ending& ending) const = 0;
  // Written since the start.
  virtual std::uint64_t records() const = 0;
  virtual std::uint64_t bytes() const = 0;

  // More than a person reads, and a bound on the answer.
  static constexpr std::size_t kStepsMax = 200;
};

}  // namespace galen::agent
