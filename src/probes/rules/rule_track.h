// One rule on one device over time: debounce before it bites, hysteresis before it lets go, and
// what keeps a finding until a reset. A state machine over values: no clock, no I/O.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/data/json.h"
#include "model/health.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// The present on both clocks. Readings are timed by `now`; events by their own wall times, because
// a log that is read after a restart brings old ones.
struct Instant {
  Time now{};
  WallTime wall{};
};

// What a rule has found.
struct Finding {
  HealthState state = HealthState::kHealthy;
  double share = 1.0;  // 0: a ratio that leaves nothing, which makes the device Unhealthy
  Cause cause{};
  WallTime since{};
  std::string raw{};  // of the sign that decided

  bool operator==(const Finding&) const = default;
};

// One for each pair of device and rule, made by the RuleEngine when the rule first matters to the
// device. Not thread-safe; a value's life.
class RuleTrack {
 public:
  // `rule` is lent and outlives the track.
  explicit RuleTrack(const Rule& rule) : rule_(&rule) {}

  // A reading or a counter; `best` is the highest value seen on this device, for "< baseline". May
  // enter a finding, begin or finish its end.
  void OnReading(const Sign& sign, double best, const Instant& at);
  // An event that the rule matches. True when it counts (now, or as one of several).
  void OnEvent(const Sign& sign, const Instant& at);
  // The sign cannot be read, or the rule's condition does not hold: nothing new can be found.
  void Pause();
  // A finding that rests on a reading ends when the reading is lost; a kept one stays.
  void OnUnreadable();
  // Lets time pass: a debounce or a quiet time may be over.
  void Settle(const Instant& at);
  // Ends the finding, as of `when`; `by` is the raw sign that showed it, "" where only time passed.
  void End(WallTime when, std::string by);

  const Rule& rule() const { return *rule_; }
  const std::optional<Finding>& finding() const { return finding_; }
  // Readings match, but not yet for long or often enough to be a finding.
  bool in_doubt() const { return matching_since_ && !finding_; }
  // When the last finding ended.
  WallTime ended() const { return ended_; }
  // The raw sign that ended it; "" when it was none, or no finding ended yet.
  const std::string& ended_by() const { return ended_by_; }
  // When Settle next has something to do, if no sign comes before.
  std::optional<Time> Due(const Instant& at) const;

  // What must survive a restart: null when there is nothing.
  Json Save() const;
  void Restore(const Json& saved, const Instant& at);

 private:
  struct Sample {
    Time at{};
    double value = 0;
  };

  // Whether the reading is a finding, or still is one.
  bool Matches(const Sign& sign, double best);
  // Whether the counter grew too much within the window that samples_ covers.
  bool Rises(const Rise& rise);
  void Remember(const Rise& rise, double value, Time now);
  void WatchForEnd(const Sign& sign, bool matches, const Instant& at);
  // Begins the finding if the matches so far are enough.
  void TryEnter(const Instant& at);
  void Enter(const Sign& sign, WallTime since);
  // The newest sign, raw; the text adds for how long the condition held where a rule debounces.
  std::string RawFor(Duration debounce) const;
  std::string ThresholdText(const Sign& sign) const;
  double ShareOf(const Sign& sign) const;
  // The rule's state; Unhealthy where a ratio leaves nothing: whoever holds such a device can do
  // nothing with it, so it is not merely Degraded.
  HealthState StateAt(double share) const;

  const Rule* rule_;
  Sign last_;
  double best_ = 0;
  // Towards a finding.
  std::optional<Time> matching_since_;
  WallTime first_match_{};
  // Readings that matched, one after another.
  int streak_ = 0;
  std::deque<WallTime> hits_;   // of events, at most rule.count
  std::deque<Sample> samples_;  // of a counter within its window
  // The identity of a finding.
  std::optional<Finding> finding_;
  // Since when the value is past the threshold to leave; nullopt: it is not.
  std::optional<Time> leaving_since_;
  WallTime first_miss_{};
  WallTime last_event_{};
  WallTime ended_{};
  std::string ended_by_;
};

}  // namespace galen::probes
