#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "probes/rules/rule_engine.h"
#include "probes/rules/sentence.h"
#include "probes/rules/sign_use.h"

namespace galen::probes {
namespace {

// Enough to see a rise to a sixtieth of its window, whatever the pace of reading.
constexpr int kSamplesPerWindow = 60;

// Hits that are kept for all details together: the reader allows no higher count, and a device has
// some dozen parts.
constexpr std::size_t kHitsMax = 1024;

// One fault of a part may be several lines of the kernel's log; those closer together are one
// event.
constexpr Duration kApart = std::chrono::minutes(1);

bool SameText(const Comparison& comparison, const std::string& text) {
  const bool same = std::get<std::string>(comparison.with) == text;
  return same == (comparison.compare == Compare::kEqual);
}

// Whether a sign brings a text of its own to be compared with.
bool ExpectsText(const Comparison& comparison, const Sign& sign) {
  return std::holds_alternative<Expected>(comparison.with) && !sign.expected_text.empty();
}

// The right side of the comparison, as a number; `best` is what RuleTrack::OnReading has it for.
std::optional<double> RightSide(const Comparison& comparison, const Sign& sign, double best) {
  if (const double* number = std::get_if<double>(&comparison.with)) return *number;
  if (std::holds_alternative<Expected>(comparison.with)) return sign.expected;
  if (std::holds_alternative<Baseline>(comparison.with)) return best;
  if (const auto* peers = std::get_if<Peers>(&comparison.with)) return peers->share * best;
  return std::nullopt;
}

}  // namespace

bool RuleTrack::Matches(const Sign& sign, double best) {
  if (const Rise* rise = std::get_if<Rise>(&rule_->match)) return Rises(*rise);
  if (const auto* mask = std::get_if<BitMask>(&rule_->match)) {
    const std::optional<std::uint64_t> bits = BitsOf(sign);
    return bits && mask->Matches(*bits);
  }
  const auto* comparison = std::get_if<Comparison>(&rule_->match);
  // Numbers and "other" are for events, which come through OnEvent.
  if (comparison == nullptr) return false;
  if (std::holds_alternative<std::string>(comparison->with)) {
    return SameText(*comparison, ValueText(sign));
  }
  if (ExpectsText(*comparison, sign)) {
    const bool same = ValueText(sign) == sign.expected_text;
    return comparison->compare == (same ? Compare::kEqual : Compare::kNotEqual);
  }
  const std::optional<double> left = NumberOf(sign);
  std::optional<double> right = RightSide(*comparison, sign, best);
  // Once found, the threshold to leave is the one that counts: that is the hysteresis.
  if (finding_ && rule_->leave) {
    const bool peers = std::holds_alternative<Peers>(comparison->with);
    right = peers ? *rule_->leave / 100 * best : *rule_->leave;
  }
  return left && right && Holds(comparison->compare, *left, *right);
}

void RuleTrack::Remember(const Rise& rise, const Sign& sign, double value, Time now) {
  // A counter that fell was reset: what it counts starts anew.
  if (!samples_.empty() && (value < samples_.back().value || sign.parts != parts_)) {
    samples_.clear();
  }
  parts_ = sign.parts;
  // The oldest sample that is kept stands at or before the window's start.
  const auto kept = std::ranges::find_if(
      samples_.begin() + std::min<std::ptrdiff_t>(1, std::ssize(samples_)), samples_.end(),
      [&](const Sample& sample) { return now - sample.at < rise.window; });
  if (kept - samples_.begin() > 1) samples_.erase(samples_.begin(), std::prev(kept));
  // Bounded memory: readings closer together than a sixtieth of the window replace one another.
  const bool crowded = samples_.size() > 1 &&
                       now - samples_[samples_.size() - 2].at < rise.window / kSamplesPerWindow;
  if (crowded) {
    samples_.back() = {now, value};
  } else {
    samples_.push_back({now, value});
  }
}

bool RuleTrack::Rises(const Rise& rise) {
  return !samples_.empty() && samples_.back().value - samples_.front().value > rise.above;
}

void RuleTrack::OnReading(const Sign& sign, double best, const Instant& at) {
  const Rise* rise = std::get_if<Rise>(&rule_->match);
  if (const std::optional<double> value = NumberOf(sign); rise != nullptr && value) {
    Remember(*rise, sign, *value, at.now);
  }
  const bool matches = Matches(sign, best);
  if (!finding_ && !matches) return Pause();
  last_ = sign;
  best_ = best;
  // Entering and leaving never happen on one reading.
  if (finding_) return WatchForEnd(sign, matches, at);
  // A sign that is shown again confirms nothing; a rule that was paused, though, begins with it.
  if (matching_since_ && sign.look == Sign::Look::kAgain) return;
  if (!matching_since_) {
    matching_since_ = at.now;
    first_match_ = sign.time;
  }
  ++streak_;
  TryEnter(at);
}

void RuleTrack::WatchForEnd(const Sign& sign, bool matches, const Instant& at) {
  if (!matches) {
    if (!leaving_since_) {
      leaving_since_ = at.now;
      first_miss_ = sign.time;
    }
    return Settle(at);
  }
  leaving_since_.reset();
  // The sentence keeps the value that brought it, or each reading would be news; another share is.
  const double share = ShareOf(sign);
  // The share of peers' median moves with each look at any of them: less than a tenth is no news.
  constexpr double kPeersNews = 0.1;
  if (AsksForPeers(*rule_) && std::fabs(share - finding_->share) < kPeersNews) return;
  if (share != finding_->share) Enter(sign, at.Of(sign.time));
}

void RuleTrack::TryEnter(const Instant& at) {
  if (!matching_since_ || streak_ < rule_->count) return;
  // By the monotonic clock: a step of the wall clock must not make or end a finding.
  if (at.now - *matching_since_ < rule_->enter_for) return;
  // The sign that decided: the newest, or the moment in which the debounce ended without another.
  Sign decided = last_;
  decided.raw = RawFor(rule_->enter_for);
  Enter(decided, at.Of(std::max(last_.time, first_match_ + rule_->enter_for)));
}

bool RuleTrack::OnEvent(const Sign& sign, const Instant& at) {
  // Also of a finding that stands: each further event puts the end of its quiet time off.
  Hit hit{.when = at.Of(sign.time)};
  if (hit.when.at >= last_event_.at) last_event_ = hit.when;
  if (finding_) return false;
  if (rule_->same_detail) hit.detail = sign.detail;
  // An event that names no part makes no part worse.
  const bool counts = !rule_->same_detail || !hit.detail.empty();
  if (counts && Count(hit)) Enter(sign, hit.when);
  Settle(at);
  return finding_.has_value();
}

bool RuleTrack::Count(const Hit& hit) {
  const auto together = [&hit](const Hit& each) { return each.detail == hit.detail; };
  const auto same = [&](const Hit& each) {
    return together(each) && std::chrono::abs(hit.when.at - each.when.at) < kApart;
  };
  if (rule_->same_detail && std::ranges::any_of(hits_, same)) return false;
  hits_.push_back(hit);
  // The last `count` hits are enough to know whether so many lie within the window.
  if (std::ranges::count_if(hits_, together) > rule_->count) {
    hits_.erase(std::ranges::find_if(hits_, together));
  }
  if (hits_.size() > kHitsMax) hits_.erase(hits_.begin());
  if (std::ranges::count_if(hits_, together) < rule_->count) return false;
  const Hit& first = *std::ranges::find_if(hits_, together);
  return rule_->count == 1 || hit.when.at - first.when.at <= rule_->window;
}

void RuleTrack::Pause() {
  matching_since_.reset();
  streak_ = 0;
}

void RuleTrack::OnUnreadable() {
  Pause();
  // A rise across a gap is not known to have happened within the window.
  samples_.clear();
  leaving_since_.reset();
  if (rule_->until == Until::kClear) finding_.reset();
}

void RuleTrack::Settle(const Instant& at) {
  if (!finding_) {
    if (last_.look == Sign::Look::kNow) TryEnter(at);
    return;
  }
  if (rule_->until == Until::kFor && at.now >= last_event_.at + rule_->quiet) {
    return End({std::min(at.wall, last_event_.time + rule_->quiet), last_event_.at + rule_->quiet},
               "");
  }
  if (rule_->until != Until::kClear || !leaving_since_) return;
  if (at.now - *leaving_since_ < rule_->leave_for) return;
  End(at.Of(std::max(last_.time, first_miss_ + rule_->leave_for)), RawFor(rule_->leave_for));
}

std::string RuleTrack::RawFor(Duration debounce) const {
  if (debounce <= Duration::zero() || last_.raw.empty()) return last_.raw;
  return fmt::format("{} for {:g} s", last_.raw, std::chrono::duration<double>(debounce).count());
}

void RuleTrack::End(const Moment& when, std::string by) {
  // A track that had found nothing is only reset, and does not know when the device became well.
  if (finding_) {
    ended_ = when;
    ended_by_ = std::move(by);
  }
  finding_.reset();
  leaving_since_.reset();
  hits_.clear();
  Pause();
}

std::optional<Time> RuleTrack::Due() const {
  if (!finding_) {
    if (!matching_since_ || streak_ < rule_->count) return std::nullopt;
    if (last_.look != Sign::Look::kNow) return std::nullopt;
    return *matching_since_ + rule_->enter_for;
  }
  if (rule_->until == Until::kFor) return last_event_.at + rule_->quiet;
  if (rule_->until == Until::kClear && leaving_since_) return *leaving_since_ + rule_->leave_for;
  return std::nullopt;
}

std::string RuleTrack::ThresholdText(const Sign& sign) const {
  if (const Rise* rise = std::get_if<Rise>(&rule_->match)) return NumberText(rise->above);
  if (const auto* mask = std::get_if<BitMask>(&rule_->match)) {
    return fmt::format("{:#x}", mask->bits);
  }
  const auto* comparison = std::get_if<Comparison>(&rule_->match);
  if (comparison == nullptr) return "";
  if (const auto* text = std::get_if<std::string>(&comparison->with)) return *text;
  if (ExpectsText(*comparison, sign)) return sign.expected_text;
  const std::optional<double> right = RightSide(*comparison, sign, best_);
  return right ? NumberText(*right) : "";
}

std::string RuleTrack::ExpectedText(const Sign& sign, const std::string& threshold) const {
  if (AsksForPeers(*rule_)) return NumberText(best_);
  return sign.expected ? NumberText(*sign.expected) : threshold;
}

// A fixed share, or the value against what it is compared with; 1 when that is unknown.
double RuleTrack::ShareOf(const Sign& sign) const {
  if (const double* share = std::get_if<double>(&rule_->share)) return *share;
  const auto& comparison = std::get<Comparison>(rule_->match);
  // Compared with peers, what is left is a share of what they have, not of the threshold.
  const bool peers = std::holds_alternative<Peers>(comparison.with);
  const std::optional<double> whole = peers ? best_ : RightSide(comparison, sign, best_);
  const std::optional<double> left = NumberOf(sign);
  if (!whole || !left || *whole <= 0) return 1.0;
  if (*left <= 0) return 0;
  // Two digits are what people are shown; more would make news of nothing. Little is not nothing.
  return std::clamp(std::round(*left / *whole * 1000) / 1000, 0.001, 1.0);
}

HealthState RuleTrack::StateAt(double share) const {
  return share > 0 ? rule_->state : HealthState::kUnhealthy;
}

void RuleTrack::Enter(const Sign& sign, const Moment& since) {
  const double share = ShareOf(sign);
  const std::string threshold = ThresholdText(sign);
  const std::string unit = rule_->unit.empty() ? sign.unit : rule_->unit;
  std::string value = ValueText(sign);
  if (std::holds_alternative<Rise>(rule_->match)) {
    value = NumberText(samples_.back().value - samples_.front().value);
  } else if (rule_->count > 1 && !hits_.empty()) {
    value = NumberText(rule_->count);
  }
  const SentenceValues values{.value = value,
                              .threshold = threshold,
                              .expected = ExpectedText(sign, threshold),
                              .unit = unit,
                              .text = rule_->text,
                              .detail = sign.detail,
                              .share = share};
  finding_ = Finding{.state = StateAt(share),
                     .share = share,
                     .cause = {.code = rule_->code,
                               .message = FillSentence(rule_->sentence, values),
                               .value = value,
                               .threshold = threshold,
                               .unit = unit,
                               .owner = rule_->owner},
                     .since = since.time,
                     .raw = sign.raw};
  found_at_ = since.at;
}

// A finding that ends with its sign is kept too: until the next process has read the sign itself,
// the last finding stands, and a fault that lasts keeps its time.
Json RuleTrack::Save() const {
  if (!finding_ && hits_.empty()) return Json();
  Json saved = Json::MakeObject({{"lastEvent", FormatRfc3339(last_event_.time, 9)}});
  for (const Hit& hit : hits_) saved["hits"].Append(FormatRfc3339(hit.when.time, 9));
  if (rule_->same_detail) {
    for (const Hit& hit : hits_) saved["details"].Append(hit.detail);
  }
  if (!finding_) return saved;
  saved["since"] = FormatRfc3339(finding_->since, 9);
  saved["share"] = finding_->share;
  saved["message"] = finding_->cause.message;
  saved["value"] = finding_->cause.value;
  saved["threshold"] = finding_->cause.threshold;
  saved["unit"] = finding_->cause.unit;
  saved["raw"] = finding_->raw;
  return saved;
}

void RuleTrack::Restore(const Json& saved, const Instant& at) {
  const auto time = [](const Json& text) {
    const StatusOr<WallTime> parsed = ParseRfc3339(text.AsString());
    return parsed.ok() ? *parsed : WallTime{};
  };
  last_event_ = at.Of(time(saved["lastEvent"]));
  const auto& hits = saved["hits"].items();
  const auto& details = saved["details"].items();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    // Saved by a rule that did not distinguish parts: which they were is not known.
    if (rule_->same_detail && i >= details.size()) break;
    Hit hit{.when = at.Of(time(hits[i]))};
    if (rule_->same_detail) hit.detail = details[i].AsString();
    // Its answer counts for new events alone: a finding that stood is restored below.
    static_cast<void>(Count(hit));
  }
  if (saved.Has("since")) {
    const double share = saved["share"].AsDouble(1.0);
    finding_ = Finding{.state = StateAt(share),
                       .share = share,
                       .cause = {.code = rule_->code,
                                 .message = saved["message"].AsString(),
                                 .value = saved["value"].AsString(),
                                 .threshold = saved["threshold"].AsString(),
                                 .unit = saved["unit"].AsString(),
                                 .owner = rule_->owner},
                       .since = at.Of(time(saved["since"])).time,
                       .raw = saved["raw"].AsString()};
    found_at_ = at.Of(finding_->since).at;
  }
  Settle(at);
}

}  // namespace galen::probes
