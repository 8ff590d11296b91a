#include "probes/rules/rule_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "probes/rules/sentence.h"

namespace galen::probes {
namespace {

// The finding to show of two: worse state, less left, earlier (the root, not what followed).
bool Outranks(const RuleTrack& one, const RuleTrack& other) {
  const Finding &a = *one.finding(), &b = *other.finding();
  if (a.state != b.state) return a.state > b.state;
  // Shares count for Degraded devices only: an Unhealthy device has none to compare.
  if (a.state == HealthState::kDegraded && a.share != b.share) return a.share < b.share;
  if (one.found_at() != other.found_at()) return one.found_at() < other.found_at();
  return a.since < b.since;  // both before a restart, by a clock that was ahead
}

Cause MakeCause(std::string_view code, std::string message, std::string value, FaultOwner owner) {
  Cause cause;
  cause.code = code;
  cause.message = std::move(message);
  cause.value = std::move(value);
  cause.owner = owner;
  return cause;
}

bool EndsBy(const Rule& kept, const std::string& by) {
  if (by == kept.id) return true;
  // A reset of the device ends what waits for one. A start of the machine resets devices too, and
  // ends quiet times along with them.
  if (by == "reset") return kept.until == Until::kReset;
  return by == "reboot" && kept.until != Until::kClear;
}

}  // namespace

RuleEngine::RuleEngine(const RuleTable& table, Options options)
    : table_(&table), options_(std::move(options)) {
  ReadTable();
}

void RuleEngine::SetDevices(const std::vector<std::string>& names, const Instant& at) {
  const std::set<std::string, std::less<>> present(names.begin(), names.end());
  // A device that comes back under its name may be another: it starts without the old one's
  // findings.
  std::erase_if(devices_, [&present](const auto& entry) { return !present.contains(entry.first); });
  // A device that left is no longer a peer.
  for (PeerValues& values : peers_) values.Forget();
  for (const std::string& name : present) {
    Device& device = devices_.try_emplace(name).first->second;
    if (!device.health.id.device.empty()) continue;
    device.awaited = awaited_signs_;
    device.health.id = {options_.driver, options_.pool, name};
    device.health = UnknownHealth(device, cause_code::kNotProbed,
                                  "nothing was read from this device yet", at.wall);
  }
}

Evaluation RuleEngine::Evaluate(const std::vector<Sign>& signs, const Instant& at) {
  Evaluation evaluation;
  FindSubjects(signs);
  // First all values, so that a condition sees its sign whichever comes first.
  for (std::size_t i = 0; i < signs.size(); ++i) Note(signs[i], subjects_[i]);
  for (std::size_t i = 0; i < signs.size(); ++i) {
    const auto& [use, devices] = subjects_[i];
    // A probe may read more than this table has rules for.
    if (use == nullptr) continue;
    for (auto& [name, device] : devices) {
      device.awaited.erase(signs[i].name);
      Apply(device, signs[i], *use, at, evaluation);
    }
  }
  // All devices, not only those with signs: time has passed for every one.
  for (auto& [name, device] : devices_) Settle(device, at, evaluation);
  return evaluation;
}

void RuleEngine::FindSubjects(const std::vector<Sign>& signs) {
  subjects_.clear();
  const Sign* before = nullptr;
  for (const Sign& sign : signs) {
    const auto use = signs_.find(sign.name);
    // The signs of a device come one after the other.
    const bool same = before != nullptr && before->device == sign.device;
    subjects_.push_back({use == signs_.end() ? nullptr : &use->second,
                         same ? subjects_.back().devices : DevicesOf(sign)});
    before = &sign;
  }
}

void RuleEngine::Note(const Sign& sign, const Subject& subject) {
  if (subject.use == nullptr) return;
  const SignUse& use = *subject.use;
  if (!use.is_condition && !use.has_baseline && !use.peers) return;
  const bool known = sign.error.empty() && !sign.absent;
  const std::optional<double> number = known ? NumberOf(sign) : std::nullopt;
  for (auto& [name, device] : subject.devices) {
    if (use.peers && device.model) peers_[*device.model * peer_signs_ + *use.peers].Forget();
    if (!number) {
      // Peers' readings, which may come earlier in this look, must not be compared with an old
      // value.
      device.latest.erase(sign.name);
      continue;
    }
    if (use.is_condition || use.peers) device.latest[sign.name] = *number;
    if (!use.has_baseline) continue;
    // In this process's life only: a link that trained badly at boot and never better has no
    // baseline to fall from.
    double& best = device.best.try_emplace(sign.name, *number).first->second;
    best = std::max(best, *number);
  }
}

void RuleEngine::Apply(Device& device, const Sign& sign, const SignUse& use, const Instant& at,
                       Evaluation& evaluation) {
  if (sign.absent) return ApplyAbsent(device, sign, at);
  if (!sign.error.empty()) return ApplyUnreadable(device, sign);
  if (use.spec->kind == SignKind::kEvent) return ApplyEvent(device, sign, use, at, evaluation);
  const bool number = !use.needs_number || !sign.expected_text.empty() || NumberOf(sign);
  const bool weighable = number && (!use.needs_whole || BitsOf(sign));
  if (weighable) return ApplyReading(device, sign, use, at);
  // A value that no rule can weigh must not pass for a good one.
  Sign unreadable = sign;
  unreadable.error = fmt::format("'{}' is not a {}", ValueText(sign),
                                 use.needs_whole ? "whole number with bits" : "number");
  ApplyUnreadable(device, unreadable);
}

Evaluation RuleEngine::ObserveFailed(const Status& status, const Instant& at) {
  const Sign failed{.time = at.wall, .error = status.message()};
  for (auto& [name, device] : devices_) {
    for (auto& [rule, track] : device.tracks) LoseReading(device, rule, at.wall);
    ApplyUnreadable(device, failed);
  }
  return Evaluate({}, at);
}

std::ranges::subrange<RuleEngine::Devices::iterator> RuleEngine::DevicesOf(const Sign& sign) {
  if (sign.device == kEveryDevice) return {devices_.begin(), devices_.end()};
  const auto found = devices_.find(sign.device);
  return {found, found == devices_.end() ? found : std::next(found)};
}

void RuleEngine::ApplyReading(Device& device, const Sign& sign, const SignUse& use,
                              const Instant& at) {
  // The empty name is the probe as a whole: a single reading shows that it reads again.
  const bool was_unreadable = !device.unreadable.empty() &&
                              device.unreadable.erase(sign.name) + device.unreadable.erase("") > 0;
  const Moment when = at.Of(sign.time);
  if ((was_unreadable || !device.last_read) && when.at > device.good_since.at) {
    device.good_since = when;
    // That a first look finds nothing is no news.
    device.good_by = was_unreadable ? sign.raw : "";
  }
  device.last_read = at.now;
  for (const std::size_t index : use.rules) {
    RuleTrack& track = TrackOf(device, index);
    if (!ConditionHolds(device, table_->rules[index])) {
      // A finding stays: only the sign itself can end it.
      track.Pause();
    } else if (AsksForPeers(table_->rules[index])) {
      ApplyAgainstPeers(device, sign, index, *use.peers, at);
    } else {
      const double best = use.has_baseline ? device.best[sign.name] : 0;
      track.OnReading(sign, best, at);
    }
  }
}

void RuleEngine::ApplyUnreadable(Device& device, const Sign& sign) {
  device.latest.erase(sign.name);
  // The first error stays, so that the sentence and its time do not change while the trouble lasts.
  device.unreadable.try_emplace(sign.name, Trouble{sign.error, sign.time});
  const auto use = signs_.find(sign.name);
  if (use == signs_.end()) return;
  for (const std::size_t index : use->second.rules) LoseReading(device, index, sign.time);
}

void RuleEngine::ApplyAbsent(Device& device, const Sign& sign, const Instant& at) {
  ApplyUnreadable(device, sign);
  device.unreadable.erase(sign.name);
  const auto use = signs_.find(sign.name);
  if (use != signs_.end()) {
    for (const std::size_t index : use->second.rules) device.uncompared.erase(index);
  }
  const Moment when = at.Of(sign.time);
  if (when.at < device.good_since.at) return;
  device.good_since = when;
  device.good_by = sign.raw;
}

bool RuleEngine::MatchesEvent(const Rule& rule, const Sign& sign) const {
  const std::optional<double> number = NumberOf(sign);
  if (const auto* comparison = std::get_if<Comparison>(&rule.match)) {
    if (const auto* text = std::get_if<std::string>(&comparison->with)) {
      // Texts know only == and !=; the reader sees to it.
      return (*text == ValueText(sign)) == (comparison->compare == Compare::kEqual);
    }
    const double* right = std::get_if<double>(&comparison->with);
    return number && right != nullptr && Holds(comparison->compare, *number, *right);
  }
  if (const auto* mask = std::get_if<BitMask>(&rule.match)) {
    const std::optional<std::uint64_t> bits = BitsOf(sign);
    return bits && mask->Matches(*bits);
  }
  if (const auto* set = std::get_if<NumberSet>(&rule.match)) {
    const std::optional<std::int64_t> whole = WholeNumberOf(sign);
    return whole && set->Contains(*whole);
  }
  if (!std::holds_alternative<Other>(rule.match)) return false;
  // "other": no rule of this sign with a real match takes the event.
  const std::vector<std::size_t>& siblings = signs_.find(rule.sign)->second.rules;
  return std::none_of(siblings.begin(), siblings.end(), [&](std::size_t index) {
    const Rule& sibling = table_->rules[index];
    return !std::holds_alternative<Other>(sibling.match) && MatchesEvent(sibling, sign);
  });
}

void RuleEngine::ApplyEvent(Device& device, const Sign& sign, const SignUse& use, const Instant& at,
                            Evaluation& evaluation) {
  for (const std::size_t index : use.rules) {
    const Rule& rule = table_->rules[index];
    if (!MatchesEvent(rule, sign) || !ConditionHolds(device, rule)) continue;
    // A Healthy rule is a record with a reason: it finds nothing, but it may clear what others
    // found.
    const bool finds =
        rule.state != HealthState::kHealthy && TrackOf(device, index).OnEvent(sign, at);
    // Each event has the record of another rule; this rule's says that one part has many of them.
    if (rule.same_detail && !finds) continue;
    const bool ended = Clear(device, rule, sign, at);
    if (sign.maybe_old && !ended) continue;
    Sign of_device = sign;
    of_device.device = device.health.id.device;
    const std::string value = ValueText(sign);
    const std::string message =
        FillSentence(rule.sentence, {.value = value,
                                     .unit = rule.unit.empty() ? sign.unit : rule.unit,
                                     .text = rule.text,
                                     .detail = sign.detail});
    evaluation.records.push_back(
        {std::move(of_device), rule.id, MakeCause(rule.code, message, value, rule.owner)});
  }
}

bool RuleEngine::Clear(Device& device, const Rule& by, const Sign& sign, const Instant& at) {
  const Moment when = at.Of(sign.time);
  bool ended = false;
  for (const std::string& cleared : by.clears) {
    for (auto& [index, track] : device.tracks) {
      if (!track.finding() || !EndsBy(table_->rules[index], cleared)) continue;
      // A log that is read again may bring a reset older than the finding, and a device that is
      // back may have failed anew before anybody saw it back.
      if (track.last_shown() > when.at) continue;
      track.End(when, sign.raw);
      ended = true;
      if (when.at < device.good_since.at) continue;
      device.good_since = when;
      device.good_by = sign.raw;
    }
  }
  return ended;
}

bool RuleEngine::ConditionHolds(const Device& device, const Rule& rule) const {
  if (!rule.condition) return true;
  const auto latest = device.latest.find(rule.condition->sign);
  // For a sign that is not known the condition does not hold: no finding begins on a guess.
  const double* right = std::get_if<double>(&rule.condition->comparison.with);
  return latest != device.latest.end() && right != nullptr &&
         Holds(rule.condition->comparison.compare, latest->second, *right);
}

RuleTrack& RuleEngine::TrackOf(Device& device, std::size_t rule) {
  return device.tracks.try_emplace(rule, table_->rules[rule]).first->second;
}

bool RuleEngine::IsSilent(const Device& device, const Instant& at) const {
  return device.last_read && at.now - *device.last_read >= options_.silent_after;
}

void RuleEngine::Settle(Device& device, const Instant& at, Evaluation& evaluation) {
  for (auto& [index, track] : device.tracks) {
    // Silence ends what rests on readings. A lost GPU stays lost.
    if (IsSilent(device, at)) LoseReading(device, index, at.wall);
    track.Settle(at);
    if (track.ended().at <= device.good_since.at) continue;
    device.good_since = track.ended();
    device.good_by = track.ended_by();
  }
  DeviceHealth after = HealthOf(device, at);
  // The old value stays, and with it the time since when it holds.
  if (SameFinding(device.health, after)) return;
  evaluation.changes.push_back({device.health, after});
  device.health = std::move(after);
}

const Finding* RuleEngine::Worst(const Device& device) const {
  const RuleTrack* worst = nullptr;
  for (const auto& [index, track] : device.tracks) {
    if (!track.finding() || Superseder(device, index)) continue;
    if (worst == nullptr || Outranks(track, *worst)) worst = &track;
  }
  return worst == nullptr ? nullptr : &*worst->finding();
}

DeviceHealth RuleEngine::UnknownHealth(const Device& device, std::string_view code,
                                       std::string_view message, WallTime since) const {
  DeviceHealth health;
  health.id = device.health.id;
  health.cause = MakeCause(code, Shown(message, kCauseMessageBytesMax), "", FaultOwner::kDriver);
  health.since = since;
  return health;
}

DeviceHealth RuleEngine::HealthOf(const Device& device, const Instant& at) const {
  // A fault outranks blindness: that a sign cannot be read now does not make a known fault any
  // better.
  if (const Finding* worst = Worst(device)) {
    const double share = worst->state == HealthState::kDegraded ? worst->share : 1.0;
    return {device.health.id, worst->state, share, worst->cause, worst->since, std::nullopt};
  }
  if (!device.unreadable.empty()) {
    const auto& [sign, trouble] = *device.unreadable.begin();
    const std::string what = sign.empty() ? "cannot look at the device" : "cannot read " + sign;
    return UnknownHealth(device, cause_code::kSignUnreadable,
                         fmt::format("{}: {}", what, trouble.error), trouble.since);
  }
  if (!device.last_read || !device.awaited.empty()) {
    const std::string what = device.last_read
                                 ? "nothing is known of " + *device.awaited.begin() + " of"
                                 : "nothing was read from";
    return UnknownHealth(device, cause_code::kNotProbed, what + " this device yet", at.wall);
  }
  if (IsSilent(device, at)) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(options_.silent_after).count();
    return UnknownHealth(device, cause_code::kProbeSilent,
                         fmt::format("nothing was read from this device for {} s", seconds),
                         at.wall);
  }
  if (!device.uncompared.empty()) {
    const auto& [rule, trouble] = *device.uncompared.begin();
    return UnknownHealth(device, cause_code::kPeersMissing, trouble.error, trouble.since);
  }
  // A first bad reading that waits out its debounce is no proof of health either.
  const auto in_doubt = [](const auto& entry) { return entry.second.in_doubt(); };
  if (device.health.state == HealthState::kUnknown &&
      std::ranges::any_of(device.tracks, in_doubt)) {
    return UnknownHealth(device, cause_code::kNotProbed,
                         "its first readings look bad and are being confirmed",
                         device.health.since);
  }
  return {device.health.id, HealthState::kHealthy,  1.0,
          Cause{},          device.good_since.time, std::nullopt};
}

std::vector<DeviceHealth> RuleEngine::Snapshot() const {
  std::vector<DeviceHealth> all;
  for (const auto& [name, device] : devices_) all.push_back(device.health);
  return all;
}

std::string RuleEngine::RawSign(std::string_view device) const {
  const auto found = devices_.find(device);
  if (found == devices_.end()) return "";
  const Device& known = found->second;
  if (const Finding* worst = Worst(known)) return worst->raw;
  return known.health.state == HealthState::kHealthy ? known.good_by : "";
}

std::optional<Time> RuleEngine::NextDue(const Instant& at) const {
  std::optional<Time> first;
  const auto consider = [&first](std::optional<Time> due) {
    if (due && (!first || *due < *first)) first = due;
  };
  for (const auto& [name, device] : devices_) {
    for (const auto& [index, track] : device.tracks) consider(track.Due());
    // Once it has set in, silence changes nothing more by time alone.
    if (device.last_read && !IsSilent(device, at)) {
      consider(*device.last_read + options_.silent_after);
    }
  }
  return first;
}

}  // namespace galen::probes
