// The change log on disk: says what happened to a device in the records of history.
// Belongs to the agent's loop; the store is borrowed.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/health/change_log.h"
#include "history/store/store.h"

namespace galen::agent {

// Gives the records of one fault a common incident id: from the sign over the change, its entry in
// the journal and its publication on Pods to a crash and the device's recovery.
class HistoryLog final : public ChangeLog {
 public:
  // The most devices of which the journal only knows that a Pod got them: their drivers report no
  // health, so that they are never forgotten. The oldest beyond it are dropped, and their delays
  // can no longer be counted.
  static constexpr std::size_t kOnlyAssignedMax = 1024;

  explicit HistoryLog(history::Store& store) : store_(store) { RememberAll(); }

  void Changed(const HealthChange& change, const DeviceFacts& facts, std::uint64_t report,
               WallTime now) override;
  void Kept(const std::vector<HealthChange>& changes, OnDisk when, WallTime now) override;
  void Published(const PodRef& pod, const DeviceHealth& health, const Publication& how,
                 WallTime now) override;
  bool Assigned(const Assignment& assignment, WallTime now) override;
  void Crashed(const Crash& crash, const std::vector<DeviceId>& devices) override;
  void DriverConnected(const std::string& driver, WallTime now) override;
  void DriverLost(const std::string& driver, const std::string& why, WallTime now) override;
  void AgentStarted(WallTime now) override;
  void AgentStopped(WallTime now) override;
  void Forget(const DeviceId& device, const std::string& why, WallTime now) override;
  void Sync(Synced done) override { store_.Sync(std::move(done)); }

  bool has_gaps() const override { return store_.lossy(); }
  std::vector<DeviceHealth> Devices() const override;
  std::vector<DeviceHealth> BeforeSilence() const override;
  std::vector<Step> StepsOf(const PodRef& pod, const std::vector<DeviceId>& devices) const override;
  std::vector<Step> StepsOfEnded(const PodRef& pod, const std::vector<DeviceId>& devices,
                                 const Ending& ending) const override;
  std::uint64_t records() const override { return store_.journal().records_written(); }
  std::uint64_t bytes() const override { return store_.journal().bytes(); }
  // Devices with data in memory.
  std::size_t remembered() const { return newest_.size(); }

 private:
  // What the newest records say of a device.
  struct Newest {
    std::string incident;  // the present or last one
    std::string sign;      // its text
    std::optional<WallTime> sign_time{};
    std::optional<WallTime> changed{};
    bool sign_is_next = false;  // this sign will bring the next change
    bool by_sign = false;       // this sign brought the last change
    std::string holder;         // uid of the Pod that got it last
    std::optional<WallTime> assigned{};
    bool given_well = false;  // a Pod got it after the incident was over
  };

  using Records = std::map<std::uint64_t, history::Record>;  // by sequence

  Records RecordsOf(const PodRef& pod) const;
  // The steps, together with what the agent did itself from the first of them until then.
  std::vector<Step> StepsFrom(Records records, WallTime until) const;
  // The incident that `change` belongs to: it lasts from a device's first fault to its recovery.
  std::string IncidentOf(const HealthChange& change);
  // "" when the device never changed.
  const std::string& LastIncidentOf(const DeviceId& device);
  // The incident as far as it concerns a Pod that has the device now: "" where it was over before.
  std::string IncidentOfHolder(const DeviceId& device);
  // Writes a record of a device down, and remembers what it says.
  void Append(history::Record record);
  void Remember(const history::Record& record);
  void RememberAssigned(const history::Record& record);
  void RememberAll();
  void NoteAgent(history::Kind kind, std::string_view text, WallTime now);
  // "7 ms after sign", or "after change" where no sign that is news brought it, or "after
  // assignment" where the Pod got a device that had changed before.
  std::string Delay(const PodRef& pod, const DeviceId& device, Duration after_sign,
                    WallTime now) const;

  history::Store& store_;
  std::map<DeviceId, Newest> newest_;
  std::deque<DeviceId> only_assigned_;  // oldest first; devices that have changed since are skipped
};

}  // namespace galen::agent
