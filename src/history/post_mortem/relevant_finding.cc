#include "history/post_mortem/relevant_finding.h"

#include <algorithm>
#include <tuple>

#include "model/fault.h"

namespace galen::history {
namespace {

// While a finding was in force; the first of a device was so for longer than is known.
struct Span {
  WallTime from = WallTime::min();
  WallTime until = WallTime::max();
};

Span SpanOf(const PostMortemDevice& device, std::size_t i) {
  Span span;
  if (i > 0) span.from = device.findings[i].health.since;
  const bool fault = IsFault(device.findings[i].health.state);
  for (std::size_t next = i + 1; next < device.findings.size(); ++next) {
    const DeviceHealth& health = device.findings[next].health;
    // A card that falls off the bus takes its driver along: silence mends nothing.
    if (fault && health.state == HealthState::kUnknown) continue;
    // A sign that is reported late may be older than what was reported before it.
    span.until = std::max(span.from, health.since);
    break;
  }
  return span;
}

// In microseconds: the times of a record may lie further apart than nanoseconds can count.
Duration TimeBetween(WallTime from, WallTime to) {
  using std::chrono::microseconds;
  const microseconds apart =
      std::chrono::floor<microseconds>(to) - std::chrono::floor<microseconds>(from);
  constexpr auto kMost = std::chrono::floor<microseconds>(Duration::max());
  return std::min(apart, kMost);
}

int Rank(RelevantFinding::When when) {
  switch (when) {
    case RelevantFinding::When::kAtTheEnd:
      return 3;
    case RelevantFinding::When::kBefore:
      return 2;
    case RelevantFinding::When::kAfter:
      return 1;
  }
  GALEN_UNREACHABLE();
}

std::optional<RelevantFinding> Place(const PostMortem& record, const PostMortemDevice& device,
                                     std::size_t i) {
  using When = RelevantFinding::When;
  const Span span = SpanOf(device, i);
  const ReceivedFinding* finding = &device.findings[i];
  // A fault may be dated late, and an end is dated by the second. Unknown is dated by the agent
  // itself: an Unknown that was over before the end, or began after it, is not how it ended.
  const bool fault = IsFault(finding->health.state);
  if (span.from > record.ended + (fault ? kSeenLate : Duration::zero())) {
    return RelevantFinding{finding, When::kAfter, TimeBetween(record.ended, span.from)};
  }
  if (record.began && span.until <= *record.began) return std::nullopt;
  // An end that nobody observed is known only roughly anyway: a fault that was over by then was
  // over.
  const Duration unsure = record.exact && fault ? kEndPrecision : Duration::zero();
  if (span.until > record.first - unsure) return RelevantFinding{finding};
  return RelevantFinding{finding, When::kBefore, TimeBetween(span.until, record.first)};
}

}  // namespace

const ReceivedFinding* FindingAtTheEnd(const PostMortem& record, const PostMortemDevice& device) {
  const ReceivedFinding* worst = nullptr;
  for (std::size_t i = 0; i < device.findings.size(); ++i) {
    const auto placed = Place(record, device, i);
    if (!placed || placed->when != RelevantFinding::When::kAtTheEnd) continue;
    if (worst == nullptr || WorseFirst(placed->finding->health, worst->health)) {
      worst = placed->finding;
    }
  }
  return worst;
}

std::optional<RelevantFinding> MostRelevantFinding(const PostMortem& record,
                                                   const PostMortemDevice& device) {
  std::optional<RelevantFinding> most;
  for (std::size_t i = 0; i < device.findings.size(); ++i) {
    const auto placed = Place(record, device, i);
    if (placed && IsFault(*placed) && IsMoreRelevant(placed, most)) most = placed;
  }
  if (most) return most;
  const ReceivedFinding* at_the_end = FindingAtTheEnd(record, device);
  return at_the_end == nullptr ? std::nullopt : std::optional(RelevantFinding{at_the_end});
}

std::optional<RelevantFinding> MostRelevantFinding(const PostMortem& record) {
  if (record.devices.empty()) return std::nullopt;
  return MostRelevantFinding(record, MostRelevantDevice(record));
}

const PostMortemDevice& MostRelevantDevice(const PostMortem& record) {
  const auto more = [&record](const PostMortemDevice& a, const PostMortemDevice& b) {
    return IsMoreRelevant(MostRelevantFinding(record, a), MostRelevantFinding(record, b));
  };
  return *std::ranges::min_element(record.devices, more);
}

bool IsMoreRelevant(const std::optional<RelevantFinding>& a,
                    const std::optional<RelevantFinding>& b) {
  if (!a || !b) return a.has_value();
  const auto weight = [](const RelevantFinding& relevant) {
    return std::tuple(IsFault(relevant), Rank(relevant.when));
  };
  if (weight(*a) != weight(*b)) return weight(*a) > weight(*b);
  return WorseFirst(a->finding->health, b->finding->health);
}

bool IsFault(const RelevantFinding& relevant) { return IsFault(relevant.finding->health.state); }

bool HasFault(const PostMortem& record) {
  const auto relevant = MostRelevantFinding(record);
  return relevant && IsFault(*relevant);
}

bool HadFaultByItsEnd(const PostMortem& record) {
  const auto relevant = MostRelevantFinding(record);
  return relevant && IsFault(*relevant) && relevant->when != RelevantFinding::When::kAfter;
}

std::string DetailOf(const RelevantFinding& relevant) {
  const DeviceHealth& health = relevant.finding->health;
  const std::string& why = health.cause.message.empty() ? health.cause.code : health.cause.message;
  if (relevant.when == RelevantFinding::When::kAtTheEnd) return why;
  const std::string when = relevant.when == RelevantFinding::When::kAfter
                               ? FormatAge(relevant.away) + " after the end"
                               : "until " + FormatAge(relevant.away) + " before the end";
  return std::string(ToString(health.state)) + " " + when + (why.empty() ? "" : ": " + why);
}

}  // namespace galen::history
