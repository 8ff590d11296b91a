#include "alloc/cel/library/functions.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

StatusOr<SemanticVersion> VersionIn(Arguments arguments) {
  const bool lenient = arguments.size() == 2 && arguments[1].boolean();
  return lenient ? ParseLenientVersion(arguments[0].text())
                 : ParseSemanticVersion(arguments[0].text());
}

std::strong_ordering OrderOfBoth(Arguments arguments) {
  if (arguments[0].is(Kind::kQuantity)) return arguments[0].quantity() <=> arguments[1].quantity();
  return arguments[0].version() <=> arguments[1].version();
}

Quantity SecondQuantity(Arguments arguments) {
  if (arguments[1].is(Kind::kQuantity)) return arguments[1].quantity();
  return Quantity::Of(arguments[1].integer());
}

// Sums grow only as an expression does, but one may double them often. No quantity that is read
// comes near.
bool IsNearTheEnd(const Quantity& quantity) {
  constexpr __int128 kEnd = static_cast<__int128>(1) << 120;
  return quantity.nano() > kEnd || quantity.nano() < -kEnd;
}

Value Kept(Arena& arena, const Quantity& sum) {
  if (IsNearTheEnd(sum)) return arena.Fail("quantity overflow");
  return Value::Of(arena.Keep(sum));
}

Value NumberOf(std::uint64_t number) { return Value::Int(static_cast<std::int64_t>(number)); }

}  // namespace

Value ToQuantity(Arena& arena, Arguments arguments) {
  const StatusOr<Quantity> quantity = Quantity::Parse(arguments[0].text());
  if (!quantity.ok()) return arena.Fail("{}", quantity.status().message());
  return Value::Of(arena.Keep(*quantity));
}

Value IsQuantity(Arena&, Arguments arguments) {
  return Value::Bool(Quantity::Parse(arguments[0].text()).ok());
}

Value SignOf(Arena&, Arguments arguments) { return Value::Int(arguments[0].quantity().Sign()); }

Value IsInteger(Arena&, Arguments arguments) {
  return Value::Bool(arguments[0].quantity().AsInteger().has_value());
}

Value AsInteger(Arena& arena, Arguments arguments) {
  const std::optional<std::int64_t> integer = arguments[0].quantity().AsInteger();
  return integer ? Value::Int(*integer) : arena.Fail("cannot convert value to integer");
}

Value AsApproximateFloat(Arena&, Arguments arguments) {
  return Value::Double(arguments[0].quantity().AsDouble());
}

Value AddQuantity(Arena& arena, Arguments arguments) {
  return Kept(arena, arguments[0].quantity() + SecondQuantity(arguments));
}

Value SubtractQuantity(Arena& arena, Arguments arguments) {
  return Kept(arena, arguments[0].quantity() - SecondQuantity(arguments));
}

Value ToSemver(Arena& arena, Arguments arguments) {
  StatusOr<SemanticVersion> version = VersionIn(arguments);
  if (!version.ok()) return arena.Fail("{}", version.status().message());
  return Value::Of(arena.Keep(*std::move(version)));
}

Value IsSemver(Arena&, Arguments arguments) { return Value::Bool(VersionIn(arguments).ok()); }

Value Major(Arena&, Arguments arguments) { return NumberOf(arguments[0].version().major); }

Value Minor(Arena&, Arguments arguments) { return NumberOf(arguments[0].version().minor); }

Value Patch(Arena&, Arguments arguments) { return NumberOf(arguments[0].version().patch); }

Value CompareTo(Arena&, Arguments arguments) {
  const std::strong_ordering order = OrderOfBoth(arguments);
  return Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
}

Value IsGreaterThan(Arena&, Arguments arguments) { return Value::Bool(OrderOfBoth(arguments) > 0); }

Value IsLessThan(Arena&, Arguments arguments) { return Value::Bool(OrderOfBoth(arguments) < 0); }

}  // namespace galen::alloc::cel
