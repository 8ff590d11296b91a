#include <vector>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/compare.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

// As upstream's lists.range().
constexpr std::int64_t kRangeMax = 1'000'000;

const List& ListIn(Arguments arguments, std::size_t index = 0) { return arguments[index].list(); }

// Elements that are equal, but not those that cannot be compared.
bool AreAlike(Arena& arena, const Value& left, const Value& right) {
  return arena.Work(1) && Equal(arena, left, right).IsTrue();
}

bool Has(Arena& arena, const List& list, const Value& wanted) {
  for (std::size_t i = 0; i < list.size; ++i) {
    if (AreAlike(arena, wanted, At(list, i))) return true;
  }
  return false;
}

// Whether all of the second are in the first.
bool HasAll(Arena& arena, const List& list, const List& wanted) {
  for (std::size_t i = 0; i < wanted.size; ++i) {
    if (!Has(arena, list, At(wanted, i))) return false;
  }
  return true;
}

Value WithinWork(Arena& arena, const Value& value) {
  return arena.Work(0) ? value : arena.OverWork();
}

Value Flattened(Arena& arena, const List& list, std::int64_t depth, std::vector<Value>& into) {
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    if (!arena.Holds(into.size() * sizeof(Value))) return arena.TooLarge();
    const Value& element = At(list, i);
    if (!element.is(Kind::kList) || depth == 0) {
      into.push_back(element);
      continue;
    }
    const Value below = Flattened(arena, element.list(), depth - 1, into);
    if (below.IsError()) return below;
  }
  return {};
}

Value Made(Arena& arena, const std::vector<Value>& values) {
  if (!arena.Holds(values.size() * sizeof(Value))) return arena.TooLarge();
  return arena.MakeList(values);
}

// Every list that is made has room, and may be walked.
bool MayCopy(Arena& arena, std::size_t size) {
  return size <= Arena::kStepsMax && arena.Work(size) && arena.Holds(size * sizeof(Value));
}

}  // namespace

Value IndexOfElement(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  for (std::size_t i = 0; i < list.size && arena.Work(0); ++i) {
    if (AreAlike(arena, At(list, i), arguments[1])) {
      return Value::Int(static_cast<std::int64_t>(i));
    }
  }
  return WithinWork(arena, Value::Int(-1));
}

Value LastIndexOfElement(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  for (std::size_t i = list.size; i-- > 0 && arena.Work(0);) {
    if (AreAlike(arena, At(list, i), arguments[1])) {
      return Value::Int(static_cast<std::int64_t>(i));
    }
  }
  return WithinWork(arena, Value::Int(-1));
}

Value Includes(Arena& arena, Arguments arguments) {
  if (!arguments[0].is(Kind::kList)) {
    return WithinWork(arena, Value::Bool(AreAlike(arena, arguments[0], arguments[1])));
  }
  const List& list = ListIn(arguments);
  for (std::size_t i = 0; i < list.size && arena.Work(0); ++i) {
    if (AreAlike(arena, At(list, i), arguments[1])) return Value::Bool(true);
  }
  return WithinWork(arena, Value::Bool(false));
}

Value Slice(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  const std::int64_t start = arguments[1].integer(), end = arguments[2].integer();
  if (start < 0 || end < 0 || start > end || list.size < static_cast<std::uint64_t>(end)) {
    return arena.Fail("cannot slice({}, {}) a list of {}", start, end, list.size);
  }
  if (!MayCopy(arena, static_cast<std::size_t>(end - start))) return arena.OverWork();
  std::vector<Value> values;
  for (std::int64_t i = start; i < end; ++i) {
    values.push_back(At(list, static_cast<std::size_t>(i)));
  }
  return Made(arena, values);
}

Value Flatten(Arena& arena, Arguments arguments) {
  if (!arguments[0].is(Kind::kList)) return arena.Fail("no such overload: flatten");
  std::int64_t depth = 1;
  if (arguments.size() == 2) {
    if (!arguments[1].is(Kind::kInt)) return arena.Fail("no such overload: flatten");
    depth = arguments[1].integer();
  }
  if (depth < 0) return arena.Fail("level must be non-negative");
  std::vector<Value> values;
  const Value failed = Flattened(arena, ListIn(arguments), depth, values);
  return failed.IsError() ? failed : Made(arena, values);
}

Value Distinct(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  std::vector<Value> values;
  for (std::size_t i = 0; i < list.size && arena.Work(0); ++i) {
    const List so_far{.size = values.size(), .items = values.data()};
    if (values.empty() || !Has(arena, so_far, At(list, i))) values.push_back(At(list, i));
  }
  return arena.Work(0) ? Made(arena, values) : arena.OverWork();
}

Value Reverse(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  if (!MayCopy(arena, list.size)) return arena.OverWork();
  std::vector<Value> values;
  for (std::size_t i = list.size; i-- > 0;) values.push_back(At(list, i));
  return Made(arena, values);
}

Value Range(Arena& arena, Arguments arguments) {
  const std::int64_t count = arguments[0].integer();
  if (count < 0 || count > kRangeMax) {
    return arena.Fail("lists.range: a size of {} is not within 0 and {}", count, kRangeMax);
  }
  if (!MayCopy(arena, static_cast<std::size_t>(count))) return arena.OverWork();
  std::vector<Value> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(Value::Int(i));
  return Made(arena, values);
}

Value First(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  return Value::Optional(list.size == 0 ? nullptr : arena.Keep(At(list, 0)));
}

Value Last(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments);
  return Value::Optional(list.size == 0 ? nullptr : arena.Keep(At(list, list.size - 1)));
}

Value SetsContain(Arena& arena, Arguments arguments) {
  return WithinWork(arena, Value::Bool(HasAll(arena, ListIn(arguments, 0), ListIn(arguments, 1))));
}

Value SetsAreEquivalent(Arena& arena, Arguments arguments) {
  const bool same = HasAll(arena, ListIn(arguments, 0), ListIn(arguments, 1)) &&
                    HasAll(arena, ListIn(arguments, 1), ListIn(arguments, 0));
  return WithinWork(arena, Value::Bool(same));
}

Value SetsIntersect(Arena& arena, Arguments arguments) {
  const List& list = ListIn(arguments, 0);
  for (std::size_t i = 0; i < list.size && arena.Work(0); ++i) {
    if (Has(arena, ListIn(arguments, 1), At(list, i))) return Value::Bool(true);
  }
  return WithinWork(arena, Value::Bool(false));
}

}  // namespace galen::alloc::cel
