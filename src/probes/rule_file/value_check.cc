#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/sign.h"
#include "probes/rules/sign_use.h"
#include "probes/rules/sign_value.h"

namespace galen::probes {
namespace {

// The least and the most that a sign can be, where its row says so.
struct Bounds {
  std::optional<double> least{}, most{};
};

Bounds BoundsOf(const SignSpec& sign) {
  Bounds bounds{sign.least, sign.most};
  for (const std::string& each : sign.among) {
    const std::optional<double> number = NumberOf(Sign{.value = each});
    if (!number) continue;
    bounds.least = std::min(bounds.least.value_or(*number), *number);
    bounds.most = std::max(bounds.most.value_or(*number), *number);
  }
  return bounds;
}

bool IsWithin(const Bounds& bounds, double number) {
  return (!bounds.least || number >= *bounds.least) && (!bounds.most || number <= *bounds.most);
}

// Whether the sign can be this very number.
bool CanBe(const SignSpec& sign, double number) {
  if (sign.among.empty()) {
    return IsWithin(BoundsOf(sign), number) && (!sign.whole || number == std::floor(number));
  }
  return std::ranges::any_of(sign.among, [number](const std::string& each) {
    return NumberOf(Sign{.value = each}) == number;
  });
}

// Whether some values of the sign are on this side of the number.
bool CanHold(const SignSpec& sign, Compare compare, double number) {
  const Bounds bounds = BoundsOf(sign);
  // A sign that is one of a few texts is not a number at all.
  if (!sign.among.empty() && !bounds.least) return false;
  switch (compare) {
    case Compare::kAbove:
      return IsWithin(bounds, number) && number != bounds.most;
    case Compare::kBelow:
      return IsWithin(bounds, number) && number != bounds.least;
    case Compare::kAtLeast:
    case Compare::kAtMost:
      return IsWithin(bounds, number);
    case Compare::kEqual:
      return CanBe(sign, number);
    case Compare::kNotEqual:
      // "!= 0" of an event that has one value means that it happened.
      return CanBe(sign, number) || sign.kind == SignKind::kEvent;
  }
  GALEN_UNREACHABLE();
}

void CheckNumber(const Comparison& comparison, double number, const SignSpec& sign,
                 std::string_view field, RuleFaults& faults) {
  // A number means nothing in another unit than its sign's; nothing is converted.
  if (!comparison.unit.empty() && comparison.unit != sign.unit) {
    const std::string unit = sign.unit.empty() ? "has no unit" : "is in " + sign.unit;
    faults.Add(field, fmt::format("compares in '{}', but {} {}", Shown(comparison.unit, 40),
                                  sign.name, unit));
  } else if (!CanHold(sign, comparison.compare, number)) {
    faults.Add(field, fmt::format("compares with {}, but {} is {}", NumberText(number), sign.name,
                                  PossibleValues(sign)));
  }
}

void CheckText(const std::string& text, const SignSpec& sign, std::string_view field,
               RuleFaults& faults) {
  // For what a driver shows by itself, and lines of the kernel's log, the rest of the row decides.
  const bool number = sign.kind == SignKind::kCounter || sign.file || sign.metric || sign.command ||
                      !sign.unit.empty() || sign.least || sign.most || sign.whole;
  if (sign.among.empty() ? !number : std::ranges::find(sign.among, text) != sign.among.end()) {
    return;
  }
  std::string hint;
  // "85°C" is read as a text: a unit needs a blank before it.
  if (number && !sign.unit.empty() && text.ends_with(sign.unit)) {
    hint = "; its unit has a blank before it";
  } else if (sign.file && sign.file->words.contains(text)) {
    hint = fmt::format("; the word '{}' is its number {}", text,
                       NumberText(sign.file->words.at(text)));
  }
  faults.Add(field, fmt::format("compares with the text '{}', but {} is {}{}", Shown(text, 40),
                                sign.name, PossibleValues(sign), hint));
}

void CheckNumbers(const NumberSet& set, const SignSpec& sign, RuleFaults& faults) {
  for (const NumberRange& range : set.ranges) {
    const auto first = static_cast<double>(range.first), last = static_cast<double>(range.last);
    const bool some =
        sign.among.empty() || std::ranges::any_of(sign.among, [&](const std::string& each) {
          const std::optional<double> number = NumberOf(Sign{.value = each});
          return number && *number >= first && *number <= last;
        });
    const Bounds bounds = BoundsOf(sign);
    if (some && (!sign.among.empty() || (IsWithin(bounds, first) && IsWithin(bounds, last)))) {
      continue;
    }
    const std::string text = range.first == range.last
                                 ? fmt::format("{}", range.first)
                                 : fmt::format("{}-{}", range.first, range.last);
    faults.Add("when",
               fmt::format("lists {}, but {} is {}", text, sign.name, PossibleValues(sign)));
  }
}

void CheckLeaveValue(const Rule& rule, const SignSpec& sign, RuleFaults& faults) {
  if (AsksForPeers(rule)) {
    if (rule.leave_unit.empty() || rule.leave_unit == kPeersUnit) return;
    return faults.Add("leave", fmt::format("is in '{}', but `when` in per cent of peers",
                                           Shown(rule.leave_unit, 40)));
  }
  const Comparison past{.with = *rule.leave, .unit = rule.leave_unit};
  if (!IsWithin(BoundsOf(sign), *rule.leave)) {
    return faults.Add("leave", fmt::format("is {}, but {} is {}", NumberText(*rule.leave),
                                           sign.name, PossibleValues(sign)));
  }
  if (past.unit.empty() || past.unit == sign.unit) return;
  CheckNumber(past, *rule.leave, sign, "leave", faults);
}

}  // namespace

void CheckComparison(const Comparison& comparison, const SignSpec& sign, std::string_view field,
                     RuleFaults& faults) {
  if (const double* number = std::get_if<double>(&comparison.with)) {
    CheckNumber(comparison, *number, sign, field, faults);
  } else if (const auto* text = std::get_if<std::string>(&comparison.with)) {
    CheckText(*text, sign, field, faults);
  }
}

void CheckValues(const Rule& rule, const SignSpec& sign, RuleFaults& faults) {
  if (faults.Unread("when")) return;
  if (const auto* comparison = std::get_if<Comparison>(&rule.match)) {
    CheckComparison(*comparison, sign, "when", faults);
  } else if (const auto* set = std::get_if<NumberSet>(&rule.match)) {
    CheckNumbers(*set, sign, faults);
  }
  if (rule.leave) CheckLeaveValue(rule, sign, faults);
}

}  // namespace galen::probes
