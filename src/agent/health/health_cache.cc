#include "agent/health/health_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace galen::agent {
namespace {

// "30 s", "1.5 s"
std::string Seconds(Duration d) {
  return fmt::format("{:g} s", std::chrono::duration<double>(d).count());
}

std::string WhoseLimit(TimeoutSource source) {
  switch (source) {
    case TimeoutSource::kDriver:
      return "the driver's own limit";
    case TimeoutSource::kConfig:
      return "the configured limit";
    case TimeoutSource::kDefault:
      return "the default limit";
  }
  GALEN_UNREACHABLE();
}

// Whether the driver repeats its finding with a later begin, so that the finding ended in between.
bool IsNewsOf(const DeviceHealth& before, const DeviceHealth& reported) {
  return SameFinding(before, reported) && reported.since > before.since;
}

// The health of a device when part of its history was lost.
DeviceHealth HistoryLost(const DeviceHealth& before) {
  return {.id = before.id,
          .state = HealthState::kUnknown,
          .cause = {.code = std::string(cause_code::kHistoryLost),
                    .message = "part of the agent's journal was lost",
                    .owner = FaultOwner::kNobody},
          .since = before.since,
          .timeout = before.timeout};
}

// When the state in `reported` began. A driver that gives the sign's time is believed; without one,
// a fault that only paused or whose sentence changed keeps its first time.
WallTime SinceOf(const DeviceHealth& reported, const DeviceHealth& before,
                 const DeviceHealth* before_silence, WallTime wall) {
  if (reported.since != WallTime{}) return reported.since;
  if (reported.state == HealthState::kHealthy) return wall;
  const auto continues = [&](const DeviceHealth& earlier) {
    return earlier.state == reported.state && earlier.cause.code == reported.cause.code;
  };
  if (continues(before)) return before.since;
  if (before_silence && continues(*before_silence)) return before_silence->since;
  return wall;
}

}  // namespace

void HealthCache::Restore(const DeviceHealth& health, Time now, bool doubtful) {
  Entry* entry = FindOrAdd(health.id, health.since);
  if (entry == nullptr) return;
  entry->health = health;
  entry->doubtful = doubtful;
  entry->timeout = TimeoutOf(rules_, health.id, health.timeout);
  const bool silent = health.state == HealthState::kUnknown;
  drivers_[health.id.driver].may_have_silent |= silent;
  // A device that is Unknown already has nothing to expire.
  entry->deadline.reset();
  if (!silent) entry->deadline = now + entry->timeout.timeout;
}

void HealthCache::RestoreBeforeSilence(const DeviceHealth& before) {
  const auto it = entries_.find(before.id);
  if (it == entries_.end() || !it->second.silent()) return;
  it->second.before_silence = std::make_unique<DeviceHealth>(before);
}

std::vector<HealthChange> HealthCache::Apply(const DecodedReport& report, Time now, WallTime wall) {
  Driver& driver = drivers_[report.report.driver];
  if (!report.continues) ++driver.reports;
  const std::uint64_t number = driver.reports;
  std::vector<HealthChange> changes;
  for (const DeviceHealth& reported : report.report.devices) {
    Entry* entry = FindOrAdd(reported.id, wall);
    if (entry == nullptr) {
      driver.last_report_left_out = number;
      continue;
    }
    const auto facts = report.facts.find(reported.id);
    // A driver that reports facts once need not repeat them each time.
    if (facts != report.facts.end()) entry->facts = facts->second;
    // Only Galen's own drivers report when a state began; others when they last looked.
    const bool doubted = std::exchange(entry->doubtful, false) && facts != report.facts.end();
    if (doubted && IsNewsOf(entry->health, reported)) entry->health = HistoryLost(entry->health);
    entry->timeout =
        report.lasting ? EffectiveTimeout{} : TimeoutOf(rules_, reported.id, reported.timeout);
    entry->deadline.reset();
    if (!report.lasting) entry->deadline = now + entry->timeout.timeout;
    entry->dropped = false;
    entry->reported = now;
    entry->report = number;
    if (auto change = TakeReport(*entry, reported, wall)) changes.push_back(*std::move(change));
  }
  driver.may_have_silent |= report.lasting;
  std::ranges::move(std::exchange(displaced_, {}), std::back_inserter(changes));
  return changes;
}

std::vector<HealthChange> HealthCache::Expire(Time now, WallTime wall) {
  std::vector<HealthChange> changes;
  for (auto& [id, entry] : entries_) {
    if (!entry.dropped && (!entry.deadline || *entry.deadline > now)) continue;
    if (changes.size() == kSilencedAtOnceMax) break;
    // Once: the driver's next report sets the next deadline.
    entry.deadline.reset();
    const bool dropped = std::exchange(entry.dropped, false);
    drivers_[id.driver].may_have_silent = true;
    // Already Unknown.
    if (entry.health.state == HealthState::kUnknown && !dropped) continue;
    changes.push_back(Silence(entry, SilenceOf(entry, dropped), wall));
  }
  return changes;
}

std::vector<HealthChange> HealthCache::Drop(const std::string& driver, const Cause& cause,
                                            WallTime wall, std::size_t most) {
  drivers_[driver].dropped = cause;
  std::vector<HealthChange> changes;
  for (auto it = FirstOf(driver); it != entries_.end() && it->first.driver == driver; ++it) {
    const DeviceHealth& health = it->second.health;
    it->second.deadline.reset();
    it->second.dropped = false;
    drivers_[driver].may_have_silent = true;
    // While a device stays Unknown for the same cause, the time stays that of the first.
    if (health.state == HealthState::kUnknown && health.cause.code == cause.code) continue;
    if (changes.size() < most) {
      changes.push_back(Silence(it->second, cause, wall));
    } else {
      it->second.dropped = true;
    }
  }
  return changes;
}

bool HealthCache::SetConnected(const std::string& driver, bool connected) {
  return std::exchange(drivers_[driver].connected, connected) != connected;
}

void HealthCache::Forget(const DeviceId& id) {
  if (entries_.erase(id) > 0) --drivers_[id.driver].devices;
}

std::optional<Time> HealthCache::NextDeadline() const {
  std::optional<Time> next;
  for (const auto& [id, entry] : entries_) {
    const std::optional<Time> due = entry.dropped ? Time() : entry.deadline;
    if (due && (!next || *due < *next)) next = due;
  }
  return next;
}

const HealthCache::Entry* HealthCache::Find(const DeviceId& id) const {
  const auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second;
}

// A driver's devices stand together, because ids are ordered by driver first.
HealthCache::Entries::iterator HealthCache::FirstOf(const std::string& driver) {
  return entries_.lower_bound(DeviceId{driver, "", ""});
}

bool HealthCache::LeavesOut(const std::string& driver) const {
  const auto it = drivers_.find(driver);
  return it != drivers_.end() && it->second.last_report_left_out > 0 &&
         it->second.last_report_left_out == it->second.reports;
}

bool HealthCache::HoldsOnlyRestored(const std::string& driver) const {
  bool known = false;
  for (auto it = entries_.lower_bound(DeviceId{driver, "", ""});
       it != entries_.end() && it->first.driver == driver; ++it) {
    if (it->second.report != 0) return false;
    known |= it->second.health.state != HealthState::kUnknown;
  }
  return known;
}

HealthCache::Entry* HealthCache::FindOrAdd(const DeviceId& id, WallTime wall) {
  if (const auto it = entries_.find(id); it != entries_.end()) return &it->second;
  if (entries_.size() >= kDevicesMax && !MakeRoom(id.driver, wall)) {
    ++left_out_;
    return nullptr;
  }
  ++drivers_[id.driver].devices;
  Entry& entry = entries_[id];
  entry.health = NotReportedHealth(id);
  return &entry;
}

bool HealthCache::MakeRoom(const std::string& driver, WallTime wall) {
  if (EvictSilent(driver)) return true;
  const auto most =
      std::ranges::max_element(drivers_, {}, [](const auto& item) { return item.second.devices; });
  if (most->second.devices <= drivers_[driver].devices + 1) return false;
  const std::string largest = most->first;
  if (EvictSilent(largest)) return true;
  // The last by name is displaced, so that the first ones stay; it counts as new when it is
  // reported again.
  Displace(std::prev(entries_.upper_bound(DeviceId{largest, "\xff", ""}))->first, wall);
  return true;
}

bool HealthCache::EvictSilent(const std::string& driver) {
  bool& may_have_silent = drivers_[driver].may_have_silent;
  // Without this flag a driver with thousands of live devices would be searched for each new device
  // that has no room.
  if (!may_have_silent) return false;
  const Entry* oldest = nullptr;
  for (auto it = FirstOf(driver); it != entries_.end() && it->first.driver == driver; ++it) {
    ++searched_;
    const Entry& entry = it->second;
    if (!entry.silent()) continue;
    if (oldest == nullptr || entry.health.since < oldest->health.since) oldest = &entry;
  }
  may_have_silent = oldest != nullptr;
  if (oldest != nullptr) Evict(oldest->health.id);
  return oldest != nullptr;
}

void HealthCache::Displace(const DeviceId& id, WallTime wall) {
  DeviceHealth after = NotReportedHealth(id);
  after.cause = LeftOutCause();
  after.since = wall;
  displaced_.push_back({entries_.at(id).health, std::move(after)});
  Evict(id);
}

void HealthCache::Evict(const DeviceId& id) {
  const auto node = entries_.extract(id);
  --drivers_[node.key().driver].devices;
  evicted_.push_back(node.mapped().health);
}

// Compared with what is shown, not with what was last reported: after a silence the same report as
// before is news.
std::optional<HealthChange> HealthCache::TakeReport(Entry& entry, const DeviceHealth& reported,
                                                    WallTime wall) {
  // Any report ends the silence.
  const std::unique_ptr<DeviceHealth> earlier = std::move(entry.before_silence);
  entry.health.timeout = reported.timeout;
  if (SameFinding(entry.health, reported)) return std::nullopt;
  DeviceHealth before = std::exchange(entry.health, reported);
  entry.health.since = SinceOf(reported, before, earlier.get(), wall);
  return HealthChange{std::move(before), entry.health};
}

HealthChange HealthCache::Silence(Entry& entry, Cause cause, WallTime wall) {
  DeviceHealth before = entry.health;
  if (before.state != HealthState::kUnknown) {
    entry.before_silence = std::make_unique<DeviceHealth>(before);
  }
  entry.health = {.id = before.id,
                  .state = HealthState::kUnknown,
                  .cause = std::move(cause),
                  .since = wall,
                  .timeout = before.timeout};
  return {std::move(before), entry.health};
}

Cause HealthCache::SilenceOf(const Entry& entry, bool dropped) const {
  const auto driver = drivers_.find(entry.health.id.driver);
  if (dropped) return driver->second.dropped;
  if (driver == drivers_.end() || !driver->second.connected) {
    return {.code = std::string(cause_code::kDriverGone),
            .message = fmt::format("driver {} is not connected", entry.health.id.driver),
            .owner = FaultOwner::kDriver};
  }
  return {.code = std::string(cause_code::kDriverSilent),
          .message = fmt::format("no report for {}, {}", Seconds(entry.timeout.timeout),
                                 WhoseLimit(entry.timeout.source)),
          .owner = FaultOwner::kDriver};
}

Cause LeftOutCause() {
  return {
      .code = std::string(cause_code::kNotReported),
      .message = fmt::format("drivers of this node report more than {} devices, and this one is "
                             "left out",
                             HealthCache::kDevicesMax),
      .owner = FaultOwner::kNobody};
}

DeviceHealth NotReportedHealth(const DeviceId& id) {
  return {.id = id,
          .state = HealthState::kUnknown,
          .cause = {.code = std::string(cause_code::kNotReported),
                    .message = "the driver has not reported this device",
                    .owner = FaultOwner::kNobody}};
}

}  // namespace galen::agent
