#include "alloc/cel/values/compare.h"

#include <cmath>
#include <limits>

namespace galen::alloc::cel {
namespace {

bool IsNumber(const Value& value) {
  return value.is(Kind::kInt) || value.is(Kind::kUint) || value.is(Kind::kDouble);
}

int Sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

template <typename Number>
int OrderOf(Number left, Number right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

// REQUIRES: no NaN. A whole number beside a double is compared as a double, as upstream does.
int OrderOfDouble(double left, const Value& right) {
  if (right.is(Kind::kDouble)) return OrderOf(left, right.real());
  if (right.is(Kind::kInt)) return OrderOf(left, static_cast<double>(right.integer()));
  if (left < 0) return -1;
  return OrderOf(left, static_cast<double>(right.natural()));
}

// REQUIRES: two numbers, neither NaN.
int OrderOfNumbers(const Value& left, const Value& right) {
  if (left.is(Kind::kDouble)) return OrderOfDouble(left.real(), right);
  if (right.is(Kind::kDouble)) return -OrderOfDouble(right.real(), left);
  if (left.kind() == right.kind()) {
    return left.is(Kind::kInt) ? OrderOf(left.integer(), right.integer())
                               : OrderOf(left.natural(), right.natural());
  }
  if (left.is(Kind::kInt)) {
    return left.integer() < 0 ? -1 : OrderOf(left.natural(), right.natural());
  }
  return right.integer() < 0 ? 1 : OrderOf(left.natural(), right.natural());
}

bool IsNan(const Value& value) { return value.is(Kind::kDouble) && std::isnan(value.real()); }

// A quantity or a version beside another kind within lists or maps. Upstream takes them for equal.
Value Incomparable(Arena& arena, const Value& error) {
  return arena.over() ? error : arena.Fail("no such overload: elements cannot be compared");
}

// Comparing texts looks at the shorter one.
bool WorkOnBoth(Arena& arena, const Value& left, const Value& right) {
  return arena.WorkOn(left.text().size() < right.text().size() ? left : right);
}

Value EqualLists(Arena& arena, const List& left, const List& right) {
  if (left.size != right.size) return Value::Bool(false);
  for (std::size_t i = 0; i < left.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    const Value same = Equal(arena, At(left, i), At(right, i));
    if (same.IsError()) return Incomparable(arena, same);
    if (!same.IsTrue()) return same;
  }
  return Value::Bool(true);
}

Value EqualMaps(Arena& arena, const Map& left, const Map& right) {
  if (left.size != right.size) return Value::Bool(false);
  for (std::size_t i = 0; i < left.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    const Value* other = Find(right, left.entries[i].key);
    if (other == nullptr) return Value::Bool(false);
    const Value same = Equal(arena, left.entries[i].value, *other);
    if (same.IsError()) return Incomparable(arena, same);
    if (!same.IsTrue()) return same;
  }
  return Value::Bool(true);
}

Value EqualOptionals(Arena& arena, const Value& left, const Value& right) {
  if (left.optional() == nullptr || right.optional() == nullptr) {
    return Value::Bool(left.optional() == right.optional());
  }
  return Equal(arena, *left.optional(), *right.optional());
}

}  // namespace

bool AreEqualScalars(const Value& left, const Value& right) {
  if (IsNumber(left) && IsNumber(right)) {
    return !IsNan(left) && !IsNan(right) && OrderOfNumbers(left, right) == 0;
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return left.boolean() == right.boolean();
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return left.text() == right.text();
    case Kind::kTimestamp:
      return left.integer() == right.integer() && left.nanoseconds() == right.nanoseconds();
    case Kind::kDuration:
      return left.integer() == right.integer();
    default:
      return false;
  }
}

Value Equal(Arena& arena, const Value& left, const Value& right) {
  if (left.is(Kind::kNull) || right.is(Kind::kNull)) {
    return Value::Bool(left.kind() == right.kind());
  }
  if (left.kind() != right.kind()) {
    if (left.is(Kind::kQuantity) || left.is(Kind::kSemver)) return arena.Fail("no such overload");
    return Value::Bool(AreEqualScalars(left, right));
  }
  switch (left.kind()) {
    case Kind::kList:
      return EqualLists(arena, left.list(), right.list());
    case Kind::kMap:
      return EqualMaps(arena, left.map(), right.map());
    case Kind::kOptional:
      return EqualOptionals(arena, left, right);
    case Kind::kQuantity:
      return Value::Bool(left.quantity() == right.quantity());
    case Kind::kSemver:
      if (!arena.WorkOn(left)) return arena.OverWork();
      return Value::Bool(left.version() == right.version());
    case Kind::kString:
    case Kind::kBytes:
      if (left.text().size() != right.text().size()) return Value::Bool(false);
      if (!WorkOnBoth(arena, left, right)) return arena.OverWork();
      return Value::Bool(left.text() == right.text());
    default:
      return Value::Bool(AreEqualScalars(left, right));
  }
}

Value Compare(Arena& arena, const Value& left, const Value& right) {
  if (IsNumber(left) && IsNumber(right)) {
    if (IsNan(left) || IsNan(right)) return arena.Fail("NaN values cannot be ordered");
    return Value::Int(OrderOfNumbers(left, right));
  }
  if (left.kind() != right.kind()) return arena.Fail("no such overload");
  switch (left.kind()) {
    case Kind::kBool:
      return Value::Int(OrderOf(left.integer(), right.integer()));
    case Kind::kString:
    case Kind::kBytes:
      if (!WorkOnBoth(arena, left, right)) return arena.OverWork();
      return Value::Int(Sign(left.text() <=> right.text()));
    case Kind::kDuration:
      return Value::Int(OrderOf(left.integer(), right.integer()));
    case Kind::kTimestamp:
      if (left.integer() != right.integer()) {
        return Value::Int(OrderOf(left.integer(), right.integer()));
      }
      return Value::Int(OrderOf(left.nanoseconds(), right.nanoseconds()));
    default:
      return arena.Fail("no such overload");
  }
}

}  // namespace galen::alloc::cel
