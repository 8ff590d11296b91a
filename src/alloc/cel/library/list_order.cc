#include <algorithm>
#include <optional>
#include <vector>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/compare.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

// The sum from zero, or the first error.
Value SumFrom(Arena& arena, const Value& zero, Arguments arguments) {
  Value sum = zero;
  const List& list = arguments[0].list();
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    const Value both[] = {sum, At(list, i)};
    sum = Add(arena, both);
    if (sum.IsError()) return sum;
  }
  return sum;
}

bool HasOrder(const Value& value) {
  return IsKey(value) || value.is(Kind::kBytes) || value.is(Kind::kTimestamp) ||
         value.is(Kind::kDuration);
}

// The least element for -1, the greatest for 1: the first of equal ones. As upstream,
// what has an order, but not with the best so far, is passed over.
Value Extreme(Arena& arena, const List& list, int wanted, std::string_view name) {
  if (list.size == 0) return arena.Fail("{} called on empty list", name);
  Value best = At(list, 0);
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    if (!HasOrder(At(list, i))) return arena.Fail("no such overload: {}", name);
    const Value order = Compare(arena, At(list, i), best);
    if (order.is(Kind::kInt) && order.integer() == wanted) best = At(list, i);
  }
  return best;
}

// Those of one kind that has an order, or why there are none.
struct Keys {
  std::vector<Value> values = {};
  std::optional<Value> error = {};
};
Keys KeysIn(Arena& arena, const List& list) {
  Keys keys;
  for (std::size_t i = 0; i < list.size; ++i) {
    const Value& key = At(list, i);
    if (!HasOrder(key)) return {.error = arena.Fail("list elements must be comparable")};
    if (key.kind() != At(list, 0).kind()) {
      return {.error = arena.Fail("list elements must have the same type")};
    }
    keys.values.push_back(key);
  }
  return keys;
}

bool IsLess(Arena& arena, const Value& left, const Value& right) {
  const Value order = Compare(arena, left, right);
  return order.is(Kind::kInt) && order.integer() < 0;
}

Value Sorted(Arena& arena, const List& list, const List& by) {
  if (list.size != by.size) return arena.Fail("a list and its keys differ in size");
  if (list.size > Arena::kStepsMax / 32 || !arena.Work(list.size * 32)) return arena.OverWork();
  if (!arena.Holds(list.size * sizeof(Value))) return arena.TooLarge();
  const Keys keys = KeysIn(arena, by);
  if (keys.error) return *keys.error;
  std::vector<std::size_t> order(list.size);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return IsLess(arena, keys.values[a], keys.values[b]);
  });
  if (arena.over()) return arena.OverWork();
  std::vector<Value> values;
  for (const std::size_t i : order) values.push_back(At(list, i));
  if (!arena.Holds(values.size() * sizeof(Value))) return arena.TooLarge();
  return arena.MakeList(values);
}

}  // namespace

Value IsSorted(Arena& arena, Arguments arguments) {
  const List& list = arguments[0].list();
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    if (!HasOrder(At(list, i))) return arena.Fail("no such overload: isSorted");
    if (i == 0) continue;
    const Value order = Compare(arena, At(list, i - 1), At(list, i));
    if (order.is(Kind::kInt) && order.integer() > 0) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value SumInts(Arena& arena, Arguments arguments) {
  return SumFrom(arena, Value::Int(0), arguments);
}

Value SumUints(Arena& arena, Arguments arguments) {
  return SumFrom(arena, Value::Uint(0), arguments);
}

Value SumDoubles(Arena& arena, Arguments arguments) {
  return SumFrom(arena, Value::Double(0), arguments);
}

Value SumDurations(Arena& arena, Arguments arguments) {
  return SumFrom(arena, Value::Duration(0), arguments);
}

Value Min(Arena& arena, Arguments arguments) {
  return Extreme(arena, arguments[0].list(), -1, "min");
}

Value Max(Arena& arena, Arguments arguments) {
  return Extreme(arena, arguments[0].list(), 1, "max");
}

Value Sort(Arena& arena, Arguments arguments) {
  if (!arguments[0].is(Kind::kList)) return arena.Fail("no such overload: sort");
  return Sorted(arena, arguments[0].list(), arguments[0].list());
}

Value SortByKeys(Arena& arena, Arguments arguments) {
  return Sorted(arena, arguments[0].list(), arguments[1].list());
}

}  // namespace galen::alloc::cel
