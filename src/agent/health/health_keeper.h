// Between the drivers' reports and everybody who acts on them: applies reports to the cache, ends
// them at their deadlines, and records each change before it is published. Changes of one
// turn of the loop are written together. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/health/change_log.h"
#include "agent/health/health_cache.h"
#include "agent/health/health_sink.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"

namespace galen::agent {

// The order that it keeps: applied to the cache, written to the journal, handed to OnChanges. What
// is lent in Edges outlives it.
class HealthKeeper final : public HealthSink {
 public:
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    ChangeLog& journal;
  };
  // A disk that did not write is tried again this often, also when nothing new happens.
  static constexpr Duration kSyncAgain = std::chrono::seconds(30);
  // What only completes the record is not worth a write of its own at once.
  static constexpr Duration kSyncLater = std::chrono::seconds(1);
  // Called once for each turn of the loop in which something changed, with the changes in order; a
  // device may be in it more than once.
  using OnChanges = std::function<void(const std::vector<HealthChange>& changes)>;

  HealthKeeper(Edges edges, std::vector<TimeoutRule> rules, OnChanges on_changes);

  // Takes the devices over as they were when the agent last ran; nobody is notified. Once, before
  // the first report.
  void Restore();

  void OnReport(const DecodedReport& report, Time reported) override;
  void OnDriverConnected(const std::string& driver) override;
  void OnDriverSilent(const std::string& driver, const Cause& why) override;

  // Called for each device that is forgotten, for whatever reason; for who keeps something of it.
  void OnForgotten(std::function<void(const DeviceId& id)> on_forgotten) {
    on_forgotten_ = std::move(on_forgotten);
  }

  // The device is no more: it is in no report and no metric again.
  void Forget(const DeviceId& id, const std::string& why);

  // Never fails: of an unknown device nothing was reported (Unknown, NotReported).
  DeviceHealth HealthOf(const DeviceId& id) const;
  const HealthCache& cache() const { return cache_; }
  // Since the start, for `galen status`.
  std::uint64_t changes() const { return changes_; }
  // Whether every change that is counted was handed on.
  bool idle() const { return waiting_.empty(); }
  // Something was appended that may wait: written with the next change, or a little later.
  void SyncLater() { SyncAfter(kSyncLater); }
  // What hinders the journal; "" when nothing does.
  const std::string& trouble() const { return trouble_; }

 private:
  void Take(std::vector<HealthChange> changes);
  // Journal first, then everybody else: what was published survives a crash.
  void Flush();
  void Expire();
  // Sets the timer for the next deadline.
  void Arm();
  void Count(const HealthChange& change);
  void SyncAfter(Duration delay);
  void NoteJournal(const Status& status);
  void NoteForgotten(const DeviceId& id, HealthState state, const std::string& why);

  Edges edges_;
  HealthCache cache_;
  const OnChanges on_changes_;
  std::function<void(const DeviceId& id)> on_forgotten_;
  std::vector<HealthChange> waiting_;  // applied, not yet recorded and handed on
  std::uint64_t changes_ = 0;
  std::string trouble_;
  // When deadline_ comes; nullopt: it waits for nothing.
  std::optional<Time> armed_for_;
  Timer flush_, deadline_, sync_later_;
  bool sync_waits_ = false;
};

}  // namespace galen::agent
