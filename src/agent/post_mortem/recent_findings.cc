#include "agent/post_mortem/recent_findings.h"

#include <algorithm>

#include "agent/health/health_cache.h"
#include "agent/holdings/claim_index.h"
#include "model/fault.h"

namespace galen::agent {
namespace {

// Whether nothing had been reported of the device before.
bool IsNothing(const DeviceHealth& before) {
  return before.since == WallTime{} && SameFinding(before, NotReportedHealth(before.id));
}

}  // namespace

WallTime RecentFindings::Restore(const history::Store& journal) {
  WallTime newest{};
  for (const history::Record& record : journal.Since(0)) {
    if (record.kind == history::Kind::kForgotten) Forget(record.device);
    if (record.change) Add(*record.change, record.time);
    newest = std::max(newest, record.time);
  }
  return newest;
}

void RecentFindings::Add(const HealthChange& change, WallTime reported) {
  // Most devices only ever had one finding, Healthy: as far as is known, they were so before.
  if (change.after.state == HealthState::kHealthy && IsNothing(change.before)) return;
  const auto it = stories_.try_emplace(change.after.id).first;
  Story& story = it->second;
  if (story.findings.empty()) Begin(story, change.before);
  by_turn_.erase(story.turn);
  story.turn = ++turns_;
  by_turn_[story.turn] = &it->first;
  story.findings.push_back({change.after, reported});
  ++size_;
  while (story.findings.size() > kPerDeviceMax) {
    Begin(story, story.findings.front().health);
    story.findings.erase(story.findings.begin());
    --size_;
  }
  // The finding that is dropped is the oldest of all; the device's present health stays known.
  while (size_ > kFindingsMax) Forget(DeviceId(*by_turn_.begin()->second));
}

void RecentFindings::Forget(const DeviceId& device) {
  const auto it = stories_.find(device);
  if (it == stories_.end()) return;
  size_ -= it->second.findings.size();
  by_turn_.erase(it->second.turn);
  stories_.erase(it);
}

void RecentFindings::Begin(Story& story, const DeviceHealth& before) {
  story.before = IsNothing(before) ? nullptr : std::make_unique<DeviceHealth>(before);
}

DeviceHealth RecentFindings::BeforeOf(const Story& story) {
  return story.before ? *story.before : NotReportedHealth(story.findings.front().health.id);
}

std::vector<history::ReceivedFinding> RecentFindings::Of(const DeviceHealth& present, WallTime from,
                                                         WallTime until) const {
  const auto it = stories_.find(present.id);
  if (it == stories_.end()) {
    // The device's only report came after the window.
    if (present.since > until) return {{NotReportedHealth(present.id), {}}};
    return {{present, present.since}};
  }
  const DeviceHealth first = BeforeOf(it->second);
  std::vector<history::ReceivedFinding> findings;
  for (const history::ReceivedFinding& finding : it->second.findings) {
    if (IsWithin(finding, from, until)) {
      // What the first finding replaced held until then.
      if (findings.empty()) findings.push_back({first, first.since});
      findings.push_back(finding);
    } else if (finding.received < from) {
      findings.assign(1, finding);
    }
  }
  // All that is known came after the window: until then what the first finding replaced held.
  if (findings.empty()) findings.push_back({first, first.since});
  return findings;
}

DeviceHealth RecentFindings::AtEnd(const DeviceHealth& present, WallTime end, WallTime now) const {
  const std::vector<history::ReceivedFinding> findings = Of(present, end, now);
  DeviceHealth at_end = findings.front().health;
  // All that is known begins later: the device flapped since, or was first reported then.
  if (!IsUntilEnd(at_end.since, end)) at_end = NotReportedHealth(present.id);
  for (const history::ReceivedFinding& finding : findings) {
    const DeviceHealth& later = finding.health;
    const bool worse = IsFault(later.state) && later.state > at_end.state;
    if (worse && IsUntilEnd(later.since, end)) at_end = later;
  }
  return at_end;
}

HealthState RecentFindings::WorstOf(const DeviceHealth& present, WallTime from,
                                    WallTime until) const {
  HealthState worst = HealthState::kHealthy;
  for (const history::ReceivedFinding& finding : Of(present, from, until)) {
    worst = Worse(worst, finding.health.state);
  }
  return worst;
}

bool IsWithin(const history::ReceivedFinding& finding, WallTime from, WallTime until) {
  const auto within = [&](WallTime time) { return time >= from && time <= until; };
  return within(finding.received) || within(finding.health.since);
}

}  // namespace galen::agent
