// Stands between the drivers' reports and the parts that act on them: applies reports to the cache,
// ends them at their deadlines, and records each change before it is published, unless the disk
// hangs or fails. Changes of one turn of the loop are written together. Belongs to the agent's
// loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
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
#include "base/repeated_log.h"

namespace galen::agent {

// The order of each change: applied to the cache, written to the journal, shown by HealthOf and
// handed to OnChanges. The Edges outlive it.
class HealthKeeper final : public HealthSink {
 public:
  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    ChangeLog& journal;
  };
  // How often a disk that failed is tried again, also when nothing new happens.
  static constexpr Duration kSyncAgain = std::chrono::seconds(30);
  // How long a change waits for the disk before it is published all the same. A healthy disk syncs
  // in far less, and a person does not notice the difference.
  static constexpr Duration kDiskPatience = std::chrono::milliseconds(250);
  // The most changes that were published early and still await their mark in the journal; the
  // oldest beyond it are not marked.
  static constexpr std::size_t kLateMax = 4096;
  // How many changes are published in one step of the loop, and how many may wait for that before
  // more of a long report is taken: so that others are served in between, and little memory is
  // used.
  static constexpr std::size_t kPublishedAtOnceMax = 128;
  static constexpr std::size_t kUnpublishedMax = 512;
  // How long records that only complete the line of causes wait for a common write.
  static constexpr Duration kSyncLater = std::chrono::seconds(1);
  // Called once for each turn of the loop in which something changed, with the changes in order, at
  // most kPublishedAtOnceMax; a device may be in it more than once.
  using OnChanges = std::function<void(const std::vector<HealthChange>& changes)>;

  HealthKeeper(Edges edges, std::vector<TimeoutRule> rules, OnChanges on_changes);

  // Takes the devices over as they were when the agent last ran; no listener is notified. Once,
  // before the first report.
  void Restore();

  std::size_t OnReport(const DecodedReport& report, Time reported) override;
  bool HasRoom() const override { return shown_.size() < kUnpublishedMax; }
  void OnDriverConnected(const std::string& driver) override;
  void OnDriverSilent(const std::string& driver, const Cause& why) override;
  // For the HealthMerger, where a health source reports beside the driver: like OnReport and
  // OnDriverSilent, but without their effect on whether the driver counts as connected.
  std::size_t OnMerged(const DecodedReport& report, Time reported);
  void OnDriverLost(const std::string& driver, const Cause& why);

  // Called for each device that is forgotten, for whatever reason; for parts that keep data of it.
  void OnForgotten(std::function<void(const DeviceId& id)> on_forgotten) {
    on_forgotten_ = std::move(on_forgotten);
  }

  // The device has left the node: it is in no report and no metric any more.
  void Forget(const DeviceId& id, const std::string& why) override;

  // As published: a change that is not in the journal yet is not seen. Never fails: a device that
  // was never reported is Unknown, NotReported.
  DeviceHealth HealthOf(const DeviceId& id) const;
  const HealthCache& cache() const { return cache_; }
  // Counted since the start, for GetStatus of the inspect service.
  std::uint64_t changes() const { return changes_; }
  // Whether every counted change was handed on.
  bool idle() const { return shown_.empty(); }
  // Something was appended that may wait: it is written with the next change, or after kSyncLater.
  void SyncLater() { SyncAfter(kSyncLater); }
  // What is wrong with the journal, as a sentence; "" when nothing is.
  const std::string& trouble() const { return trouble_; }

 private:
  // Changes that are written together.
  struct Batch {
    Time since{};
    std::vector<HealthChange> changes;  // empty: only records that complete the line of causes
    bool published = false;
  };
  // The health that HealthOf gives for a device while some of its changes are not published.
  struct Shown {
    DeviceHealth health;
    std::size_t changes = 0;
  };

  // Changes to publish; those that the journal has are marked there as published in time.
  struct Due {
    std::vector<HealthChange> changes;
    std::size_t published = 0;
    OnDisk on_disk = OnDisk::kAfterPublished;
  };

  void Take(std::vector<HealthChange> changes);
  // Journal first, then the listeners: what was published survives a crash.
  void Write();
  void OnWritten(const Status& status);
  void NoteOnDisk(const std::vector<HealthChange>& changes, OnDisk when);
  // Sets the timer for the oldest change that waits for the disk.
  void ArmPatience();
  void EndPatience();
  // Publishes changes before they are in the journal.
  void PublishLate(std::vector<HealthChange> changes);
  void Publish(std::vector<HealthChange> changes, OnDisk on_disk);
  void PublishSome();
  void NoteLeftOut(const std::string& driver);
  void Expire();
  // Sets the timer for the next deadline.
  void Arm();
  void Count(const HealthChange& change);
  void SyncAfter(Duration delay);
  void NoteJournal(const Status& status);
  void NoteForgotten(const DeviceId& id, HealthState state, const std::string& why);

  Edges edges_;
  HealthCache cache_;
  const OnChanges on_changes_;  // AgentApp gives its ChangeRouter
  std::function<void(const DeviceId& id)> on_forgotten_;
  // The way of a change: from the cache into waiting_ until the turn of the loop ends, into writes_
  // until the journal answers or kDiskPatience is over, into due_ until its turn comes, and out to
  // on_changes_. Until then HealthOf gives what shown_ has of its device. What was published before
  // the journal had it is in late_ until the journal does.
  std::vector<HealthChange> waiting_;  // applied, not yet given to the journal
  std::deque<Batch> writes_;           // with the journal, in the order of its answers
  std::deque<Due> due_;                // in the order of their changes
  std::map<DeviceId, Shown> shown_;
  std::vector<HealthChange> late_;  // published, and not yet in the journal
  std::uint64_t changes_ = 0;
  std::string trouble_;
  // When deadline_ fires; nullopt: it is not set.
  std::optional<Time> armed_for_;
  Timer flush_, deadline_, sync_later_, patience_, publish_;
  std::size_t left_out_ = 0;  // how many of the cache's left_out were counted
  LogOnce logged_;
  bool sync_waits_ = false;
  bool hangs_ = false;  // the disk has not answered for longer than kDiskPatience
};

}  // namespace galen::agent
