#include "agent/health/health_keeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/agent_metrics.h"

namespace galen::agent {
namespace {

Metrics::Labels StateLabels(const DeviceId& id, HealthState state) {
  return {
      {"driver", id.driver}, {"pool", id.pool}, {"device", id.device}, {"state", ToString(state)}};
}

}  // namespace

HealthKeeper::HealthKeeper(Edges edges, std::vector<TimeoutRule> rules, OnChanges on_changes)
    : edges_(edges), cache_(std::move(rules)), on_changes_(std::move(on_changes)) {}

void HealthKeeper::Restore() {
  const Time now = edges_.loop.Now();
  for (const DeviceHealth& health : edges_.journal.Devices()) {
    cache_.Restore(health, now, edges_.journal.has_gaps());
    edges_.metrics.Set(metric::kDeviceState, StateLabels(health.id, health.state), 1);
  }
  // Where part of the journal is lost, the fault may have ended since, and begun again.
  if (!edges_.journal.has_gaps()) {
    for (const DeviceHealth& before : edges_.journal.BeforeSilence()) {
      cache_.RestoreBeforeSilence(before);
    }
  }
  Arm();
}

std::size_t HealthKeeper::OnReport(const DecodedReport& report, Time reported) {
  // A stream that ended and was opened again is announced by its first report alone.
  OnDriverConnected(report.report.driver);
  return OnMerged(report, reported);
}

std::size_t HealthKeeper::OnMerged(const DecodedReport& report, Time reported) {
  std::vector<HealthChange> changes = cache_.Apply(report, reported, edges_.loop.WallNow());
  NoteLeftOut(report.report.driver);
  const std::size_t changed = changes.size();
  Take(std::move(changes));
  return changed;
}

void HealthKeeper::NoteLeftOut(const std::string& driver) {
  const std::size_t more = cache_.left_out() - std::exchange(left_out_, cache_.left_out());
  if (more == 0) return;
  edges_.metrics.Add(metric::kDevicesLeftOut, {{"driver", driver}}, static_cast<double>(more));
  if (!logged_.First(driver)) return;
  edges_.log.Warning("no room for all devices of a driver, those left out are Unknown",
                     {{"driver", driver}, {"limit_of_all_drivers", HealthCache::kDevicesMax}});
}

void HealthKeeper::OnDriverConnected(const std::string& driver) {
  if (!cache_.SetConnected(driver, true)) return;
  edges_.journal.DriverConnected(driver, edges_.loop.WallNow());
  SyncLater();
}

void HealthKeeper::OnDriverSilent(const std::string& driver, const Cause& why) {
  if (why.code == cause_code::kDriverGone) {
    OnDriverLost(driver, why);
  } else {
    cache_.SetConnected(driver, true);
  }
  // The limit holds for all drivers that leave in one turn together, as when their directory is
  // removed.
  const std::size_t taken = std::min(waiting_.size(), HealthCache::kSilencedAtOnceMax);
  Take(cache_.Drop(driver, why, edges_.loop.WallNow(), HealthCache::kSilencedAtOnceMax - taken));
}

void HealthKeeper::OnDriverLost(const std::string& driver, const Cause& why) {
  if (!cache_.SetConnected(driver, false)) return;
  edges_.journal.DriverLost(driver, why.message, edges_.loop.WallNow());
  SyncLater();
}

void HealthKeeper::Forget(const DeviceId& id, const std::string& why) {
  const HealthCache::Entry* entry = cache_.Find(id);
  if (entry == nullptr) return;
  const HealthState state = entry->health.state;
  cache_.Forget(id);
  NoteForgotten(id, state, why);
  SyncLater();
  Arm();
}

DeviceHealth HealthKeeper::HealthOf(const DeviceId& id) const {
  if (const auto it = shown_.find(id); it != shown_.end()) return it->second.health;
  const HealthCache::Entry* entry = cache_.Find(id);
  return entry == nullptr ? NotReportedHealth(id) : entry->health;
}

void HealthKeeper::Take(std::vector<HealthChange> changes) {
  Arm();
  // Before the changes: the journal must not hold more devices than the cache.
  for (const DeviceHealth& health : cache_.TakeEvicted()) {
    NoteForgotten(health.id, health.state, "made room for another device of its driver");
  }
  if (changes.empty()) return;
  const WallTime now = edges_.loop.WallNow();
  for (const HealthChange& change : changes) {
    ++shown_.try_emplace(change.after.id, Shown{change.before}).first->second.changes;
    const HealthCache::Entry* entry = cache_.Find(change.after.id);
    if (entry == nullptr) continue;
    edges_.journal.Changed(change, entry->facts, entry->report, now);
    Count(change);
  }
  std::move(changes.begin(), changes.end(), std::back_inserter(waiting_));
  // In a later turn, so that many reports of one turn make one write. Setting the timer again
  // replaces it, so there is only one.
  flush_ = edges_.loop.After(Duration::zero(), [this] {
    if (!waiting_.empty()) Write();
  });
}

void HealthKeeper::Write() {
  // While the disk hangs, one unanswered write is enough to find out that it works again.
  if (hangs_) return PublishLate(std::exchange(waiting_, {}));
  writes_.push_back({edges_.loop.Now(), std::exchange(waiting_, {})});
  edges_.journal.Sync([this](const Status& status) { OnWritten(status); });
  ArmPatience();
}

void HealthKeeper::OnWritten(const Status& status) {
  Batch batch = std::move(writes_.front());
  writes_.pop_front();
  const bool hung = std::exchange(hangs_, false);
  NoteJournal(status);
  if (hung) {
    Write();  // changes that came during the write; its answer covers all of them
  } else if (status.ok() && (writes_.empty() || !writes_.front().published)) {
    NoteOnDisk(std::exchange(late_, {}), OnDisk::kAfterPublished);
  }
  // A timer, since a disk can have room again without any new change.
  if (!status.ok()) SyncAfter(batch.changes.empty() ? kSyncAgain : kSyncLater);
  if (!batch.published && status.ok()) {
    Publish(std::move(batch.changes), OnDisk::kBeforePublished);
  } else if (!batch.published) {
    PublishLate(std::move(batch.changes));
  }
  ArmPatience();
}

void HealthKeeper::ArmPatience() {
  const auto waits = std::ranges::find(writes_, false, &Batch::published);
  if (hangs_ || waits == writes_.end()) return patience_.Cancel();
  patience_ = edges_.loop.At(waits->since + kDiskPatience, [this] { EndPatience(); });
}

void HealthKeeper::EndPatience() {
  hangs_ = true;
  NoteJournal(DeadlineExceeded("the disk takes longer than {} ms; Pods are written all the same",
                               kDiskPatience / std::chrono::milliseconds(1)));
  for (Batch& batch : writes_) {
    if (!std::exchange(batch.published, true)) PublishLate(std::exchange(batch.changes, {}));
  }
}

// Publishes without waiting longer for a disk that hangs or fails: the record may be lost, what is
// published is true.
void HealthKeeper::PublishLate(std::vector<HealthChange> changes) {
  if (changes.empty()) return;
  edges_.metrics.Add(metric::kPublishedLate, {}, static_cast<double>(changes.size()));
  late_.insert(late_.end(), changes.begin(), changes.end());
  if (late_.size() > kLateMax)
    late_.erase(late_.begin(), late_.end() - static_cast<std::ptrdiff_t>(kLateMax));
  Publish(std::move(changes), OnDisk::kAfterPublished);
}

// These records only complete the line of causes, so they wait for the next write.
void HealthKeeper::NoteOnDisk(const std::vector<HealthChange>& changes, OnDisk when) {
  if (changes.empty()) return;
  edges_.journal.Kept(changes, when, edges_.loop.WallNow());
  SyncLater();
}

void HealthKeeper::Publish(std::vector<HealthChange> changes, OnDisk on_disk) {
  if (changes.empty()) return;
  due_.push_back({std::move(changes), 0, on_disk});
  // Behind earlier changes; each further part in a turn of its own.
  if (due_.size() == 1) PublishSome();
}

void HealthKeeper::PublishSome() {
  Due& first = due_.front();
  const std::size_t count = std::min(first.changes.size() - first.published, kPublishedAtOnceMax);
  const auto begin = first.changes.begin() + static_cast<std::ptrdiff_t>(first.published);
  const std::vector<HealthChange> part(begin, begin + static_cast<std::ptrdiff_t>(count));
  if (first.on_disk == OnDisk::kBeforePublished) NoteOnDisk(part, first.on_disk);
  for (const HealthChange& change : part) {
    const auto it = shown_.find(change.after.id);
    GALEN_CHECK(it != shown_.end());
    it->second.health = change.after;
    if (--it->second.changes == 0) shown_.erase(it);
  }
  first.published += count;
  if (first.published == first.changes.size()) due_.pop_front();
  if (!due_.empty()) publish_ = edges_.loop.After(Duration::zero(), [this] { PublishSome(); });
  on_changes_(part);
}

void HealthKeeper::SyncAfter(Duration delay) {
  if (std::exchange(sync_waits_, true)) return;
  sync_later_ = edges_.loop.After(delay, [this] {
    sync_waits_ = false;
    Write();
  });
}

void HealthKeeper::Expire() {
  armed_for_.reset();
  Take(cache_.Expire(edges_.loop.Now(), edges_.loop.WallNow()));
}

// A report only moves deadlines later; so the timer stays as set, and checks the deadlines when it
// fires.
void HealthKeeper::Arm() {
  const std::optional<Time> next = cache_.NextDeadline();
  if (!next) {
    armed_for_.reset();
    return deadline_.Cancel();
  }
  if (armed_for_ && *armed_for_ <= *next) return;
  armed_for_ = next;
  deadline_ = edges_.loop.At(*next, [this] { Expire(); });
}

void HealthKeeper::Count(const HealthChange& change) {
  ++changes_;
  const DeviceId& id = change.after.id;
  // One series for each device: its present state, without zeros for the other states.
  edges_.metrics.Remove(metric::kDeviceState, StateLabels(id, change.before.state));
  edges_.metrics.Set(metric::kDeviceState, StateLabels(id, change.after.state), 1);
  edges_.metrics.Add(metric::kStateChanges,
                     {{"driver", id.driver}, {"state", ToString(change.after.state)}});
}

void HealthKeeper::NoteForgotten(const DeviceId& id, HealthState state, const std::string& why) {
  edges_.journal.Forget(id, why, edges_.loop.WallNow());
  edges_.metrics.Remove(metric::kDeviceState, StateLabels(id, state));
  if (on_forgotten_) on_forgotten_(id);
}

void HealthKeeper::NoteJournal(const Status& status) {
  if (status.ok()) {
    if (!trouble_.empty()) edges_.log.Info("journal is written again");
    return trouble_.clear();
  }
  edges_.metrics.Add(metric::kJournalErrors, {});
  if (trouble_.empty()) {
    edges_.log.Error("journal cannot be written, states will not survive a restart",
                     {{"error", status.message()}});
  }
  trouble_ = status.message();
}

}  // namespace galen::agent
