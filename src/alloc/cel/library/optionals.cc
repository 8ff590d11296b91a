#include <vector>

#include "alloc/cel/library/functions.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

// What optional.ofNonZeroValue leaves out: zero, empty, null.
bool IsZero(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration:
      return value.integer() == 0;
    case Kind::kDouble:
      return value.real() == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.text().empty();
    case Kind::kList:
      return value.list().size == 0;
    case Kind::kMap:
      return value.map().size == 0;
    default:
      return false;
  }
}

}  // namespace

Value OptionalOf(Arena& arena, Arguments arguments) {
  return Value::Optional(arena.Keep(arguments[0]));
}

Value OptionalOfNonZero(Arena& arena, Arguments arguments) {
  return Value::Optional(IsZero(arguments[0]) ? nullptr : arena.Keep(arguments[0]));
}

Value OptionalNone(Arena&, Arguments) { return Value::Optional(nullptr); }

Value HasValue(Arena&, Arguments arguments) {
  return Value::Bool(arguments[0].optional() != nullptr);
}

Value ValueOfOptional(Arena& arena, Arguments arguments) {
  if (arguments[0].optional() == nullptr) return arena.Fail("optional.none() dereference");
  return *arguments[0].optional();
}

Value Unwrap(Arena& arena, Arguments arguments) {
  const List& list = arguments[0].list();
  std::vector<Value> values;
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    if (!arena.Holds(values.size() * sizeof(Value))) return arena.TooLarge();
    const Value& element = At(list, i);
    if (!element.is(Kind::kOptional)) return arena.Fail("an element is no optional");
    if (element.optional() != nullptr) values.push_back(*element.optional());
  }
  return arena.MakeList(values);
}

}  // namespace galen::alloc::cel
