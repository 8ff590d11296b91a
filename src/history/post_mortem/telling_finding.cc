#include "history/post_mortem/telling_finding.h"

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

int Rank(TellingFinding::When when) {
  switch (when) {
    case TellingFinding::When::kAtTheEnd:
      return 3;
    case TellingFinding::When::kBefore:
      return 2;
    case TellingFinding::When::kAfter:
      return 1;
  }
  GALEN_UNREACHABLE();
}

std::optional<TellingFinding> Place(const PostMortem& record, const PostMortemDevice& device,
                                    std::size_t i) {
  using When = TellingFinding::When;
  const Span span = SpanOf(device, i);
  const HeardFinding* finding = &device.findings[i];
  if (span.from > record.ended + kSeenLate) {
    return TellingFinding{finding, When::kAfter, TimeBetween(record.ended, span.from)};
  }
  if (record.began && span.until <= *record.began) return std::nullopt;
  // An end that nobody observed is known only roughly anyway: a fault that was over by then was
  // over.
  const Duration unsure = record.exact ? kEndPrecision : Duration::zero();
  if (span.until > record.first - unsure) return TellingFinding{finding};
  return TellingFinding{finding, When::kBefore, TimeBetween(span.until, record.first)};
}

}  // namespace

const HeardFinding* FindingAtTheEnd(const PostMortem& record, const PostMortemDevice& device) {
  const HeardFinding* worst = nullptr;
  for (std::size_t i = 0; i < device.findings.size(); ++i) {
    const auto placed = Place(record, device, i);
    if (!placed || placed->when != TellingFinding::When::kAtTheEnd) continue;
    if (worst == nullptr || WorseFirst(placed->finding->health, worst->health)) {
      worst = placed->finding;
    }
  }
  return worst;
}

std::optional<TellingFinding> TellingFindingOf(const PostMortem& record,
                                               const PostMortemDevice& device) {
  std::optional<TellingFinding> most;
  for (std::size_t i = 0; i < device.findings.size(); ++i) {
    const auto placed = Place(record, device, i);
    if (placed && IsFault(*placed) && TellsMore(placed, most)) most = placed;
  }
  if (most) return most;
  const HeardFinding* at_the_end = FindingAtTheEnd(record, device);
  return at_the_end == nullptr ? std::nullopt : std::optional(TellingFinding{at_the_end});
}

std::optional<TellingFinding> TellingFindingOf(const PostMortem& record) {
  if (record.devices.empty()) return std::nullopt;
  return TellingFindingOf(record, TellingDeviceOf(record));
}

const PostMortemDevice& TellingDeviceOf(const PostMortem& record) {
  const auto more = [&record](const PostMortemDevice& a, const PostMortemDevice& b) {
    return TellsMore(TellingFindingOf(record, a), TellingFindingOf(record, b));
  };
  return *std::ranges::min_element(record.devices, more);
}

bool TellsMore(const std::optional<TellingFinding>& a, const std::optional<TellingFinding>& b) {
  if (!a || !b) return a.has_value();
  const auto weight = [](const TellingFinding& telling) {
    return std::tuple(IsFault(telling), Rank(telling.when));
  };
  if (weight(*a) != weight(*b)) return weight(*a) > weight(*b);
  return WorseFirst(a->finding->health, b->finding->health);
}

bool IsFault(const TellingFinding& telling) { return IsFault(telling.finding->health.state); }

bool HasFault(const PostMortem& record) {
  const auto telling = TellingFindingOf(record);
  return telling && IsFault(*telling);
}

bool HadFaultByItsEnd(const PostMortem& record) {
  const auto telling = TellingFindingOf(record);
  return telling && IsFault(*telling) && telling->when != TellingFinding::When::kAfter;
}

std::string DetailOf(const TellingFinding& telling) {
  const DeviceHealth& health = telling.finding->health;
  const std::string& why = health.cause.message.empty() ? health.cause.code : health.cause.message;
  if (telling.when == TellingFinding::When::kAtTheEnd) return why;
  const std::string when = telling.when == TellingFinding::When::kAfter
                               ? FormatAge(telling.away) + " after the end"
                               : "until " + FormatAge(telling.away) + " before the end";
  return std::string(ToString(health.state)) + " " + when + (why.empty() ? "" : ": " + why);
}

}  // namespace galen::history
