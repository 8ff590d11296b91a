#include <vector>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/pattern.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

bool AreTexts(Arguments arguments) {
  return arguments[0].is(Kind::kString) && arguments[1].is(Kind::kString);
}

// What compiling takes at worst whatever the text is, and for each byte of it.
constexpr std::uint64_t kCompileSteps = 2000;
constexpr std::uint64_t kCompileStepsOfAByte = 16;
bool MayCompile(Arena& arena, const Value& expression) {
  return arena.Work(kCompileSteps + kCompileStepsOfAByte * expression.text().size());
}

}  // namespace

Value MatchesWith(Arena& arena, const Pattern& pattern, const Value& text) {
  if (!arena.Work(pattern.StepsOn(text.text().size()))) return arena.OverWork();
  return Value::Bool(pattern.Matches(text.text()));
}

Value FindWith(Arena& arena, const Pattern& pattern, const Value& text) {
  if (!arena.Work(pattern.StepsOn(text.text().size()))) return arena.OverWork();
  return Value::String(pattern.Find(text.text()).value_or(""));
}

Value FindAllWith(Arena& arena, const Pattern& pattern, const Value& text, std::int64_t count_max) {
  if (!arena.Holds((text.text().size() + 1) * sizeof(Value))) return arena.TooLarge();
  const auto may_work = [&arena](std::uint64_t steps) { return arena.Work(steps); };
  std::vector<Value> values;
  for (const auto found : pattern.FindAll(text.text(), count_max, may_work)) {
    values.push_back(Value::String(found));
  }
  return arena.over() ? arena.OverWork() : arena.MakeList(values);
}

Value Matches(Arena& arena, Arguments arguments) {
  if (!AreTexts(arguments)) return arena.Fail("no such overload: matches");
  if (!MayCompile(arena, arguments[1])) return arena.OverWork();
  const auto pattern = Pattern::Compile(arguments[1].text());
  if (!pattern.ok()) return arena.Fail("{}", pattern.status().message());
  return MatchesWith(arena, **pattern, arguments[0]);
}

Value FindPattern(Arena& arena, Arguments arguments) {
  if (!MayCompile(arena, arguments[1])) return arena.OverWork();
  const auto pattern = Pattern::Compile(arguments[1].text());
  if (!pattern.ok()) return arena.Fail("{}", pattern.status().message());
  return FindWith(arena, **pattern, arguments[0]);
}

Value FindAllPattern(Arena& arena, Arguments arguments) {
  if (!MayCompile(arena, arguments[1])) return arena.OverWork();
  const auto pattern = Pattern::Compile(arguments[1].text());
  if (!pattern.ok()) return arena.Fail("{}", pattern.status().message());
  const std::int64_t count_max = arguments.size() == 3 ? arguments[2].integer() : -1;
  return FindAllWith(arena, **pattern, arguments[0], count_max);
}

}  // namespace galen::alloc::cel
