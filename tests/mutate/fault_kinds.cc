#include "tests/mutate/fault_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace galen::mutate {
namespace {

// Names that take each other's place, in both directions.
using Pair = std::pair<std::string_view, std::string_view>;

template <std::size_t N>
std::optional<std::string_view> OtherOf(const std::array<Pair, N>& pairs, std::string_view name) {
  for (const auto& [one, other] : pairs) {
    if (name == one) return other;
    if (name == other) return one;
  }
  return std::nullopt;
}

Change Replace(const Token& token, std::string after) {
  return {token.begin, token.text.size(), std::move(after)};
}

Change Replace(const Code& code, Range range, std::string after) {
  return {code.tokens()[range.first].begin, code.Text(range).size(), std::move(after)};
}

bool Has(const Code& code, Range range, const auto& matches) {
  const auto begin = code.tokens().begin();
  return std::any_of(begin + static_cast<std::ptrdiff_t>(range.first),
                     begin + static_cast<std::ptrdiff_t>(range.last), matches);
}

bool IsAnyOf(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

// What the statement calls, as in "log_.Warning(…)": the word before its first bracket.
std::string_view Called(const Code& code, Range range) {
  for (std::size_t i = range.first + 1; i < range.last; ++i) {
    if (code.tokens()[i].Is("(")) return code.tokens()[i - 1].text;
  }
  return "";
}

// Changes nothing that a program promises.
bool NobodyMisses(const Code& code, Range range) {
  return IsAnyOf(Called(code, range), {"Debug", "Info", "Warning", "Error", "GALEN_CHECK",
                                       "GALEN_UNREACHABLE", "reserve", "shrink_to_fit"});
}

bool Removes(const Code& code, Range range) {
  if (Has(code, range, [](const Token& token) { return token.Is("="); })) return false;
  return IsAnyOf(Called(code, range), {"erase", "erase_if", "clear", "pop_front", "pop_back",
                                       "PopFront", "reset", "Erase", "Remove", "Forget", "Drop"});
}

// "<" and ">" with space on both sides compare; those of templates have none.
bool Compares(const Code& code, std::size_t i) {
  const Token& token = code.tokens()[i];
  if (token.Is("<=") || token.Is(">=")) return true;
  if (!token.Is("<") && !token.Is(">")) return false;
  const auto is_space = [&code](std::size_t at) {
    return at < code.source().size() && (code.source()[at] == ' ' || code.source()[at] == '\n');
  };
  return is_space(token.begin - 1) && is_space(token.end());
}

// Ends an operand of a comparison, at its depth of brackets.
bool BoundsOperand(const Token& token) {
  return IsAnyOf(token.text, {"&&", "||", "(", ")", "{", "}", "[", "]", ",", ";", "?", ":", "=",
                              "|=", "&=", "+=", "<<", "return"});
}

bool NamesUid(const Token& token) {
  return token.IsWord() && (token.text.find("uid") != std::string_view::npos ||
                            token.text.find("Uid") != std::string_view::npos);
}

// The whole comparison around the operator at `i`: "a.uid == b(c).uid".
Range Comparison(const Code& code, std::size_t i) {
  const auto& tokens = code.tokens();
  std::size_t last = i + 1;
  while (last < tokens.size() && (code.Partner(last) != last || !BoundsOperand(tokens[last]))) {
    last = code.Partner(last) + 1;
  }
  std::size_t first = i;
  for (int depth = 0; first > 0; --first) {
    const Token& before = tokens[first - 1];
    if (before.Is(")") || before.Is("]")) ++depth;
    if (depth == 0 && BoundsOperand(before)) break;
    if (before.Is("(") || before.Is("[")) --depth;
  }
  return {first, last};
}

// "x.find_last_of(y) != std::string::npos": from whichever end it is looked for, it is there or
// not.
bool AsksOnlyWhether(const Code& code, std::size_t name) {
  const std::size_t compared = code.Partner(name + 1) + 1;
  const auto& tokens = code.tokens();
  return compared + 5 < tokens.size() && (tokens[compared].Is("==") || tokens[compared].Is("!=")) &&
         tokens[compared + 5].Is("npos");
}

bool Overlaps(const std::vector<Condition>& conditions, std::size_t token) {
  return std::any_of(conditions.begin(), conditions.end(), [token](const Condition& condition) {
    return condition.range.first <= token && token < condition.range.last;
  });
}

}  // namespace

std::vector<Change> StatementsGone(const Code& code) {
  std::vector<Change> changes;
  for (const Statement& statement : code.statements()) {
    if (statement.declares || statement.only_exit || NobodyMisses(code, statement.range)) continue;
    if (Removes(code, statement.range)) continue;  // a kind of its own
    changes.push_back(Replace(code, statement.range, ";"));
  }
  for (const EarlyExit& exit : code.early_exits()) {
    changes.push_back(Replace(code, exit.range, ";"));
  }
  return changes;
}

std::vector<Change> ConditionsNegated(const Code& code) {
  std::vector<Change> changes;
  for (const Condition& condition : code.conditions()) {
    if (condition.declares) continue;
    changes.push_back(
        Replace(code, condition.range, "!(" + std::string(code.Text(condition.range)) + ")"));
  }
  for (std::size_t i = 0; i < code.tokens().size(); ++i) {
    const Token& token = code.tokens()[i];
    if (!token.Is("==") && !token.Is("!=")) continue;
    if (!code.InBody(i) || Overlaps(code.conditions(), i)) continue;
    changes.push_back(Replace(token, token.Is("==") ? "!=" : "=="));
  }
  return changes;
}

std::vector<Change> BoundsOffByOne(const Code& code) {
  static constexpr std::array<Pair, 2> kBounds = {Pair{"<", "<="}, Pair{">", ">="}};
  std::vector<Change> changes;
  for (std::size_t i = 1; i < code.tokens().size(); ++i) {
    const Token& token = code.tokens()[i];
    if (!code.InBody(i)) continue;
    if (Compares(code, i))
      changes.push_back(Replace(token, std::string(*OtherOf(kBounds, token.text))));
    const Token& before = code.tokens()[i - 1];
    const bool one = token.Is("1") && (before.Is("+") || before.Is("-"));
    if (one && before.end() < token.begin) changes.push_back(Replace(code, {i - 1, i + 1}, ""));
  }
  return changes;
}

std::vector<Change> SumsAssigned(const Code& code) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < code.tokens().size(); ++i) {
    const Token& token = code.tokens()[i];
    if (!code.InBody(i) || !(token.Is("+=") || token.Is("-=") || token.Is("|="))) continue;
    changes.push_back(Replace(token, "="));
  }
  return changes;
}

std::vector<Change> GreatestTaken(const Code& code) {
  static constexpr std::array<Pair, 1> kExtremes = {Pair{"max", "min"}};
  const auto& tokens = code.tokens();
  std::vector<Change> changes;
  for (std::size_t i = 2; i + 1 < tokens.size(); ++i) {
    const auto other = OtherOf(kExtremes, tokens[i].text);
    const std::size_t close = code.Partner(i + 1);
    if (!other || !code.InBody(i) || !tokens[i - 2].Is("std") || close <= i + 2) continue;
    changes.push_back(Replace(tokens[i], std::string(*other)));
    // "x = std::max(x, y)": from "std" to the bracket, "y" is left.
    std::size_t comma = i + 2;
    while (comma < close && !tokens[comma].Is(",")) comma = code.Partner(comma) + 1;
    const std::string_view kept = code.Text({i + 2, comma});
    if (comma >= close || !tokens[i - 3].Is("=")) continue;
    const std::size_t count = comma - (i + 2);
    if (i < 3 + count || code.Text({i - 3 - count, i - 3}) != kept) continue;
    changes.push_back(
        Replace(code, {i - 2, close + 1}, std::string(code.Text({comma + 1, close}))));
  }
  return changes;
}

std::vector<Change> EndsSwapped(const Code& code) {
  static constexpr std::array<Pair, 8> kEnds = {{{"front", "back"},
                                                 {"pop_front", "pop_back"},
                                                 {"find_first_of", "find_last_of"},
                                                 {"find_first_not_of", "find_last_not_of"},
                                                 {"lower_bound", "upper_bound"},
                                                 {"min_element", "max_element"},
                                                 {"starts_with", "ends_with"},
                                                 {"remove_prefix", "remove_suffix"}}};
  std::vector<Change> changes;
  for (std::size_t i = 1; i + 1 < code.tokens().size(); ++i) {
    const Token& token = code.tokens()[i];
    if (!code.InBody(i) || !token.IsWord() || !code.tokens()[i + 1].Is("(")) continue;
    // Mostly a vector's, which has no pop_front.
    if (token.Is("pop_back") || AsksOnlyWhether(code, i)) continue;
    const auto other = OtherOf(kEnds, token.text);
    if (other) changes.push_back(Replace(token, std::string(*other)));
  }
  return changes;
}

std::vector<Change> UidsNotCompared(const Code& code) {
  std::vector<Change> changes;
  for (std::size_t i = 1; i < code.tokens().size(); ++i) {
    const Token& token = code.tokens()[i];
    if (!code.InBody(i) || !(token.Is("==") || token.Is("!="))) continue;
    const Range range = Comparison(code, i);
    if (!Has(code, range, NamesUid)) continue;
    changes.push_back(Replace(code, range, token.Is("==") ? "true" : "false"));
  }
  return changes;
}

std::vector<Change> ErasesGone(const Code& code) {
  std::vector<Change> changes;
  for (const Statement& statement : code.statements()) {
    if (!statement.declares && !statement.only_exit && Removes(code, statement.range)) {
      changes.push_back(Replace(code, statement.range, ";"));
    }
  }
  return changes;
}

std::vector<Change> CallsSwapped(const Code& code) {
  std::vector<Change> changes;
  const auto is_call = [&code](const Statement& statement) {
    const Range& range = statement.range;
    if (statement.declares || statement.only_exit || range.last - range.first < 3) return false;
    const bool assigns = Has(code, range, [](const Token& token) { return token.Is("="); });
    return !assigns && code.tokens()[range.last - 2].Is(")") && !NobodyMisses(code, range);
  };
  for (const Statement& first : code.statements()) {
    for (const Statement& second : code.statements()) {
      if (second.block != first.block || second.place != first.place + 1) continue;
      if (!is_call(first) || !is_call(second)) continue;
      const std::string one(code.Text(first.range));
      const std::string two(code.Text(second.range));
      if (one != two) {
        changes.push_back(Replace(code, {first.range.first, second.range.last}, two + " " + one));
      }
    }
  }
  return changes;
}

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kKinds = {
      {"statement gone", StatementsGone},    {"condition negated", ConditionsNegated},
      {"bound off by one", BoundsOffByOne},  {"sum assigned", SumsAssigned},
      {"greatest taken", GreatestTaken},     {"first and last swapped", EndsSwapped},
      {"UID not compared", UidsNotCompared}, {"erase gone", ErasesGone},
      {"calls swapped", CallsSwapped},
  };
  return kKinds;
}

}  // namespace galen::mutate
