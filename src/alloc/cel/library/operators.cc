#include <cmath>
#include <cstring>
#include <limits>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/compare.h"
#include "alloc/cel/values/literal.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

Value NoOverload(Arena& arena) { return arena.Fail("no such overload"); }

Value SumOfTexts(Arena& arena, const Value& left, const Value& right) {
  const std::string_view head = left.text(), tail = right.text();
  const std::size_t size = head.size() + tail.size();
  if (!arena.Holds(size)) return arena.TooLarge();
  char* joined = arena.Room<char>(size + 1);
  std::memcpy(joined, head.data(), head.size());
  std::memcpy(joined + head.size(), tail.data(), tail.size());
  const std::string_view text(joined, size);
  return left.is(Kind::kString) ? Value::String(text) : Value::Bytes(text);
}

Value TimestampOf(Arena& arena, const Value& timestamp, std::int64_t duration, int sign) {
  const __int128 nano = static_cast<__int128>(timestamp.integer()) * 1'000'000'000 +
                        timestamp.nanoseconds() + static_cast<__int128>(duration) * sign;
  __int128 seconds = nano / 1'000'000'000;
  if (nano % 1'000'000'000 < 0) --seconds;
  if (seconds < kInstantMin || seconds > kInstantMax) return arena.Fail("timestamp overflow");
  return Value::Timestamp(static_cast<std::int64_t>(seconds),
                          static_cast<std::uint32_t>(nano - seconds * 1'000'000'000));
}

Value DifferenceOfTimestamps(Arena& arena, const Value& left, const Value& right) {
  const __int128 nano = static_cast<__int128>(left.integer() - right.integer()) * 1'000'000'000 +
                        left.nanoseconds() - right.nanoseconds();
  if (nano > std::numeric_limits<std::int64_t>::max() ||
      nano < std::numeric_limits<std::int64_t>::min()) {
    return arena.Fail("duration overflow");
  }
  return Value::Duration(static_cast<std::int64_t>(nano));
}

// -1, 0, 1, or 2 with an error where there is no order.
struct Ordered {
  int sign = 0;
  Value error = {};
  bool failed = false;
};
Ordered OrderOfArguments(Arena& arena, Arguments arguments) {
  const Value order = Compare(arena, arguments[0], arguments[1]);
  if (order.IsError()) return {.error = order, .failed = true};
  return {.sign = static_cast<int>(order.integer())};
}

}  // namespace

Value Add(Arena& arena, Arguments arguments) {
  const Value& left = arguments[0];
  const Value& right = arguments[1];
  if (left.is(Kind::kTimestamp) && right.is(Kind::kDuration)) {
    return TimestampOf(arena, left, right.integer(), 1);
  }
  if (left.is(Kind::kDuration) && right.is(Kind::kTimestamp)) {
    return TimestampOf(arena, right, left.integer(), 1);
  }
  if (left.kind() != right.kind()) return NoOverload(arena);
  std::int64_t sum = 0;
  std::uint64_t natural = 0;
  switch (left.kind()) {
    case Kind::kInt:
    case Kind::kDuration:
      if (__builtin_add_overflow(left.integer(), right.integer(), &sum)) {
        return arena.Fail("integer overflow");
      }
      return left.is(Kind::kInt) ? Value::Int(sum) : Value::Duration(sum);
    case Kind::kUint:
      if (__builtin_add_overflow(left.natural(), right.natural(), &natural)) {
        return arena.Fail("unsigned integer overflow");
      }
      return Value::Uint(natural);
    case Kind::kDouble:
      return Value::Double(left.real() + right.real());
    case Kind::kString:
    case Kind::kBytes:
      return SumOfTexts(arena, left, right);
    case Kind::kList:
      return arena.Join(left, right);
    default:
      return NoOverload(arena);
  }
}

Value Subtract(Arena& arena, Arguments arguments) {
  const Value& left = arguments[0];
  const Value& right = arguments[1];
  if (left.is(Kind::kTimestamp) && right.is(Kind::kDuration)) {
    return TimestampOf(arena, left, right.integer(), -1);
  }
  if (left.kind() != right.kind()) return NoOverload(arena);
  std::int64_t difference = 0;
  std::uint64_t natural = 0;
  switch (left.kind()) {
    case Kind::kInt:
    case Kind::kDuration:
      if (__builtin_sub_overflow(left.integer(), right.integer(), &difference)) {
        return arena.Fail("integer overflow");
      }
      return left.is(Kind::kInt) ? Value::Int(difference) : Value::Duration(difference);
    case Kind::kUint:
      if (__builtin_sub_overflow(left.natural(), right.natural(), &natural)) {
        return arena.Fail("unsigned integer overflow");
      }
      return Value::Uint(natural);
    case Kind::kDouble:
      return Value::Double(left.real() - right.real());
    case Kind::kTimestamp:
      return DifferenceOfTimestamps(arena, left, right);
    default:
      return NoOverload(arena);
  }
}

Value Multiply(Arena& arena, Arguments arguments) {
  const Value& left = arguments[0];
  const Value& right = arguments[1];
  if (left.kind() != right.kind()) return NoOverload(arena);
  std::int64_t product = 0;
  std::uint64_t natural = 0;
  switch (left.kind()) {
    case Kind::kInt:
      if (__builtin_mul_overflow(left.integer(), right.integer(), &product)) {
        return arena.Fail("integer overflow");
      }
      return Value::Int(product);
    case Kind::kUint:
      if (__builtin_mul_overflow(left.natural(), right.natural(), &natural)) {
        return arena.Fail("unsigned integer overflow");
      }
      return Value::Uint(natural);
    case Kind::kDouble:
      return Value::Double(left.real() * right.real());
    default:
      return NoOverload(arena);
  }
}

Value Divide(Arena& arena, Arguments arguments) {
  const Value& left = arguments[0];
  const Value& right = arguments[1];
  if (left.kind() != right.kind()) return NoOverload(arena);
  if (left.is(Kind::kDouble)) return Value::Double(left.real() / right.real());
  if (!left.is(Kind::kInt) && !left.is(Kind::kUint)) return NoOverload(arena);
  if (right.integer() == 0) return arena.Fail("division by zero");
  if (left.is(Kind::kUint)) return Value::Uint(left.natural() / right.natural());
  if (left.integer() == std::numeric_limits<std::int64_t>::min() && right.integer() == -1) {
    return arena.Fail("integer overflow");
  }
  return Value::Int(left.integer() / right.integer());
}

Value Modulo(Arena& arena, Arguments arguments) {
  const Value& left = arguments[0];
  const Value& right = arguments[1];
  if (left.kind() != right.kind()) return NoOverload(arena);
  if (!left.is(Kind::kInt) && !left.is(Kind::kUint)) return NoOverload(arena);
  if (right.integer() == 0) return arena.Fail("modulus by zero");
  if (left.is(Kind::kUint)) return Value::Uint(left.natural() % right.natural());
  if (left.integer() == std::numeric_limits<std::int64_t>::min() && right.integer() == -1) {
    return arena.Fail("integer overflow");
  }
  return Value::Int(left.integer() % right.integer());
}

Value Negate(Arena& arena, Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Kind::kDouble)) return Value::Double(-value.real());
  if (!value.is(Kind::kInt) && !value.is(Kind::kDuration)) return NoOverload(arena);
  if (value.integer() == std::numeric_limits<std::int64_t>::min()) {
    return arena.Fail("integer overflow");
  }
  return value.is(Kind::kInt) ? Value::Int(-value.integer()) : Value::Duration(-value.integer());
}

Value Not(Arena& arena, Arguments arguments) {
  if (!arguments[0].is(Kind::kBool)) return NoOverload(arena);
  return Value::Bool(!arguments[0].boolean());
}

Value Equals(Arena& arena, Arguments arguments) { return Equal(arena, arguments[0], arguments[1]); }

Value NotEquals(Arena& arena, Arguments arguments) {
  // As upstream: what cannot be compared is not equal.
  return Value::Bool(!Equal(arena, arguments[0], arguments[1]).IsTrue());
}

Value Less(Arena& arena, Arguments arguments) {
  const Ordered order = OrderOfArguments(arena, arguments);
  return order.failed ? order.error : Value::Bool(order.sign < 0);
}

Value LessOrEqual(Arena& arena, Arguments arguments) {
  const Ordered order = OrderOfArguments(arena, arguments);
  return order.failed ? order.error : Value::Bool(order.sign <= 0);
}

Value Greater(Arena& arena, Arguments arguments) {
  const Ordered order = OrderOfArguments(arena, arguments);
  return order.failed ? order.error : Value::Bool(order.sign > 0);
}

Value GreaterOrEqual(Arena& arena, Arguments arguments) {
  const Ordered order = OrderOfArguments(arena, arguments);
  return order.failed ? order.error : Value::Bool(order.sign >= 0);
}

Value In(Arena& arena, Arguments arguments) {
  const Value& wanted = arguments[0];
  if (arguments[1].is(Kind::kMap)) {
    return Value::Bool(Find(arguments[1].map(), wanted) != nullptr);
  }
  if (!arguments[1].is(Kind::kList)) return NoOverload(arena);
  const List& list = arguments[1].list();
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    if (Equal(arena, wanted, At(list, i)).IsTrue()) return Value::Bool(true);
  }
  return Value::Bool(false);
}

}  // namespace galen::alloc::cel
