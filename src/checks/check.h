// A check: how something should be, and the judgement of what was observed of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galen::checks {

// Unknown: it could not be looked at. Warning: it works now, and should be mended before it does
// not. Bad: something that people rely on does not work.
enum class Level { kGood, kUnknown, kWarning, kBad };

// The outcome of one check. `seen` is what was observed, or why nothing could be.
struct Outcome {
  Level level = Level::kUnknown;
  std::string seen;
};

// A check of `Observations`. `id` is "<group>.<name>" and stays the same over versions: people
// filter by it.
template <typename Observations>
struct Check {
  using JudgeFunction = Outcome (*)(const Observations&);

  // A check that is either passed or failed.
  Check(std::string_view check_id, std::string_view expects, std::string_view advises,
        JudgeFunction function)
      : id(check_id), expected(expects), advice(advises), judge(function) {}
  Check(std::string_view check_id, Level worst, std::string_view expects, std::string_view meaning,
        std::string_view advises, JudgeFunction function)
      : id(check_id),
        severity(worst),
        expected(expects),
        means(meaning),
        advice(advises),
        judge(function) {}

  std::string_view id;
  Level severity = Level::kBad;  // the worst level that it can give
  std::string_view expected;     // one sentence of how it should be
  std::string_view means;        // what it means that it is not; "" = the expectation says it
  std::string_view advice;       // what to do then
  JudgeFunction judge;
};

// A check with its outcome, for a report.
struct CheckResult {
  std::string id;
  Level level = Level::kUnknown;
  Level severity = Level::kBad;
  std::string expected, seen, means, advice;

  std::string_view group() const;  // the part of the id before its dot
  std::string_view name() const;   // the part after it
};

// The result of each check, in their order.
template <typename Observations>
std::vector<CheckResult> JudgeAll(const std::vector<Check<Observations>>& checks,
                                  const Observations& seen) {
  std::vector<CheckResult> results;
  for (const Check<Observations>& check : checks) {
    Outcome outcome = check.judge(seen);
    results.push_back({.id = std::string(check.id),
                       .level = outcome.level,
                       .severity = check.severity,
                       .expected = std::string(check.expected),
                       .seen = std::move(outcome.seen),
                       .means = std::string(check.means),
                       .advice = std::string(check.advice)});
  }
  return results;
}

}  // namespace galen::checks
