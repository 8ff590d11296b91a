#include "probes/rules/rule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace galen::probes {
namespace {

constexpr std::string_view kForms =
    "expected \"> 85\", \"> 85 °C\", \"== down\", \"< expected\", \"< baseline\", \"< 90 % of "
    "peers\", "
    "\"in 13, 31-33\", \"rises > 10 in 60s\", \"any of 0x60\", \"all of 0x3\", \"none of 0x1\" or "
    "\"other\"";

// Takes words and marks off the front of a short text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) { SkipSpaces(); }

  bool Take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    SkipSpaces();
    return true;
  }
  // Up to the next space or comma.
  std::string_view Word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" ,"));
    rest_.remove_prefix(word.size());
    SkipSpaces();
    return word;
  }
  std::string_view Rest() { return std::exchange(rest_, {}); }
  bool done() const { return rest_.empty(); }

 private:
  void SkipSpaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
};

// The whole text, or nothing: "85C" is not a number.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  // "nan" and "inf" are numbers to from_chars, but nothing can be compared with them.
  if (!std::isfinite(static_cast<double>(number))) return std::nullopt;
  return number;
}

std::optional<Compare> TakeCompare(Cursor& cursor) {
  // The longer marks first: ">" is also how ">=" begins.
  if (cursor.Take(">=")) return Compare::kAtLeast;
  if (cursor.Take("<=")) return Compare::kAtMost;
  if (cursor.Take("==")) return Compare::kEqual;
  if (cursor.Take("!=")) return Compare::kNotEqual;
  if (cursor.Take(">")) return Compare::kAbove;
  if (cursor.Take("<")) return Compare::kBelow;
  return std::nullopt;
}

bool IsEquality(Compare compare) {
  return compare == Compare::kEqual || compare == Compare::kNotEqual;
}

// "90 % of peers"; nullopt where the text is about no peers.
std::optional<StatusOr<Peers>> ParsePeers(std::string_view right) {
  constexpr std::string_view kEnd = " % of peers";
  if (!right.ends_with(kEnd)) return std::nullopt;
  const std::optional<double> percent =
      ParseNumber<double>(right.substr(0, right.size() - kEnd.size()));
  constexpr double kPercentMost = 100'000;
  if (!percent || *percent <= 0 || *percent > kPercentMost) {
    return InvalidArgument("'{}' is not like \"90 % of peers\", above 0", right);
  }
  return Peers{*percent / 100};
}

// "85 °C".
std::optional<std::pair<double, std::string>> ParseNumberWithUnit(std::string_view right) {
  const std::size_t space = right.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::optional<double> number = ParseNumber<double>(right.substr(0, space));
  const std::string_view unit = Trimmed(right.substr(space));
  if (!number || unit.empty() || unit.find(' ') != std::string_view::npos) return std::nullopt;
  return std::pair(*number, std::string(unit));
}

StatusOr<Match> ParseComparison(Compare compare, Cursor& cursor) {
  const std::string_view right = cursor.Rest();
  if (right.empty()) return InvalidArgument("nothing to compare with: {}", kForms);
  Comparison comparison{.compare = compare};
  if (right == "expected") {
    comparison.with = Expected{};
  } else if (right == "baseline") {
    // The best value seen is the highest one: a counter or a temperature has no such thing.
    if (compare != Compare::kBelow) return InvalidArgument("only \"< baseline\" has a meaning");
    comparison.with = Baseline{};
  } else if (const std::optional<StatusOr<Peers>> peers = ParsePeers(right)) {
    if (!peers->ok()) return peers->status();
    // Equal to a median is what nobody means: half of all devices are a little off it.
    if (IsEquality(compare)) return InvalidArgument("peers are compared by <, <=, > or >=");
    comparison.with = **peers;
  } else if (const std::optional<double> number = ParseNumber<double>(right)) {
    comparison.with = *number;
  } else if (const auto with_unit = ParseNumberWithUnit(right)) {
    std::tie(comparison.with, comparison.unit) = *with_unit;
  } else if (IsEquality(compare)) {
    comparison.with = std::string(right);
  } else {
    // Which of two texts is the greater would be a matter of taste.
    return InvalidArgument("'{}' is not a number: {}", right, kForms);
  }
  return Match(comparison);
}

StatusOr<NumberRange> ParseRange(std::string_view word) {
  const std::size_t dash = word.find('-');
  const auto first = ParseNumber<std::int64_t>(word.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : ParseNumber<std::int64_t>(word.substr(dash + 1));
  if (!first || !last)
    return InvalidArgument("'{}' is neither a number nor a range like 1-7", word);
  if (*last < *first) return InvalidArgument("range {} ends before it starts", word);
  return NumberRange{*first, *last};
}

StatusOr<Match> ParseNumberSet(Cursor& cursor) {
  NumberSet set;
  do {
    ASSIGN_OR_RETURN(const NumberRange range, ParseRange(cursor.Word()));
    set.ranges.push_back(range);
  } while (cursor.Take(","));
  if (!cursor.done())
    return InvalidArgument("'{}' at the end has no meaning: {}", cursor.Rest(), kForms);
  return Match(set);
}

StatusOr<Match> ParseRise(Cursor& cursor) {
  if (!cursor.Take(">")) return InvalidArgument("{}", kForms);
  const std::optional<double> above = ParseNumber<double>(cursor.Word());
  if (!above || *above < 0 || !cursor.Take("in ")) return InvalidArgument("{}", kForms);
  ASSIGN_OR_RETURN(const Duration window, ParseDuration(cursor.Rest()));
  if (window <= Duration::zero()) return InvalidArgument("the window is not above zero");
  return Match(Rise{*above, window});
}

// "0x60" or "96".
StatusOr<Match> ParseBitMask(BitMask::Need need, Cursor& cursor) {
  const std::string_view text = cursor.Rest();
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  BitMask mask{.need = need};
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, mask.bits, hex ? 16 : 10);
  if (error != std::errc() || end != last || mask.bits == 0 || mask.bits > kBitsMost) {
    return InvalidArgument("'{}' is not a mask of bits like 0x60, above 0 and below 2^53", text);
  }
  return Match(mask);
}

}  // namespace

bool BitMask::Matches(std::uint64_t value) const {
  switch (need) {
    case Need::kAny:
      return (value & bits) != 0;
    case Need::kAll:
      return (value & bits) == bits;
    case Need::kNone:
      return (value & bits) == 0;
  }
  GALEN_UNREACHABLE();
}

bool NumberSet::Contains(std::int64_t number) const {
  return std::any_of(ranges.begin(), ranges.end(), [number](const NumberRange& range) {
    return range.first <= number && number <= range.last;
  });
}

StatusOr<Match> ParseMatch(std::string_view text) {
  Cursor cursor(text);
  // Marks first: no word begins with one, so what follows is a comparison for certain.
  if (const std::optional<Compare> compare = TakeCompare(cursor)) {
    return ParseComparison(*compare, cursor);
  }
  if (cursor.Take("in ")) return ParseNumberSet(cursor);
  if (cursor.Take("rises ")) return ParseRise(cursor);
  if (cursor.Take("any of ")) return ParseBitMask(BitMask::Need::kAny, cursor);
  if (cursor.Take("all of ")) return ParseBitMask(BitMask::Need::kAll, cursor);
  if (cursor.Take("none of ")) return ParseBitMask(BitMask::Need::kNone, cursor);
  if (cursor.Take("other") && cursor.done()) return Match(Other{});
  return InvalidArgument("{}", kForms);
}

bool Holds(Compare compare, double left, double right) {
  switch (compare) {
    case Compare::kAbove:
      return left > right;
    case Compare::kAtLeast:
      return left >= right;
    case Compare::kBelow:
      return left < right;
    case Compare::kAtMost:
      return left <= right;
    case Compare::kEqual:
      return left == right;
    case Compare::kNotEqual:
      return left != right;
  }
  GALEN_UNREACHABLE();
}

const SignSpec* RuleTable::FindSign(std::string_view name) const {
  const auto found = std::find_if(signs.begin(), signs.end(),
                                  [name](const SignSpec& sign) { return sign.name == name; });
  return found == signs.end() ? nullptr : &*found;
}

const ExporterSpec* RuleTable::FindExporter(std::string_view name) const {
  const auto found = std::ranges::find(exporters, name, &ExporterSpec::name);
  return found == exporters.end() ? nullptr : &*found;
}

const Rule* RuleTable::FindRule(std::string_view id) const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [id](const Rule& rule) { return rule.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace galen::probes
