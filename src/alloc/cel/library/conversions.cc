#include <cmath>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/literal.h"
#include "base/code_point.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

Value NoConversion(Arena& arena, const Value& from, std::string_view to) {
  return arena.Fail("type conversion error from '{}' to '{}'", TypeNameOf(from), to);
}

// The doubles next to the ends of int64 and uint64 are left out, as upstream does: they may stand
// for numbers beyond.
constexpr double kIntEnd = 9223372036854775808.0;
constexpr double kUintEnd = 18446744073709551616.0;

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = ReadCodePoint(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

Value Identity(Arena&, Arguments arguments) { return arguments[0]; }

Value TypeOfValue(Arena&, Arguments arguments) { return Value::TypeName(TypeNameOf(arguments[0])); }

Value ToBool(Arena& arena, Arguments arguments) {
  if (arguments[0].is(Kind::kBool)) return arguments[0];
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (arguments[0].text() == yes) return Value::Bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (arguments[0].text() == no) return Value::Bool(false);
  }
  return NoConversion(arena, arguments[0], "bool");
}

Value ToBytes(Arena&, Arguments arguments) { return Value::Bytes(arguments[0].text()); }

Value ToDouble(Arena& arena, Arguments arguments) {
  const Value& from = arguments[0];
  if (from.is(Kind::kDouble)) return from;
  if (from.is(Kind::kInt)) return Value::Double(static_cast<double>(from.integer()));
  if (from.is(Kind::kUint)) return Value::Double(static_cast<double>(from.natural()));
  const std::optional<double> real = ReadDouble(from.text());
  return real ? Value::Double(*real) : NoConversion(arena, from, "double");
}

Value ToDuration(Arena& arena, Arguments arguments) {
  const Value& from = arguments[0];
  if (from.is(Kind::kDuration)) return from;
  if (from.is(Kind::kInt)) return Value::Duration(from.integer());
  const std::optional<std::int64_t> duration = ReadDuration(from.text());
  if (!duration) return NoConversion(arena, from, "google.protobuf.Duration");
  return Value::Duration(*duration);
}

Value ToInt(Arena& arena, Arguments arguments) {
  const Value& from = arguments[0];
  switch (from.kind()) {
    case Kind::kInt:
      return from;
    case Kind::kTimestamp:
    case Kind::kDuration:
      return Value::Int(from.integer());
    case Kind::kUint:
      if (from.natural() > INT64_MAX) return arena.Fail("integer overflow");
      return Value::Int(from.integer());
    case Kind::kDouble:
      if (std::isnan(from.real()) || from.real() <= -kIntEnd || from.real() >= kIntEnd) {
        return arena.Fail("integer overflow");
      }
      return Value::Int(static_cast<std::int64_t>(from.real()));
    default:
      break;
  }
  const std::optional<std::int64_t> integer = ReadInt(from.text());
  return integer ? Value::Int(*integer) : NoConversion(arena, from, "int");
}

Value ToUint(Arena& arena, Arguments arguments) {
  const Value& from = arguments[0];
  switch (from.kind()) {
    case Kind::kUint:
      return from;
    case Kind::kInt:
      if (from.integer() < 0) return arena.Fail("unsigned integer overflow");
      return Value::Uint(from.natural());
    case Kind::kDouble:
      if (std::isnan(from.real()) || from.real() < 0 || from.real() >= kUintEnd) {
        return arena.Fail("unsigned integer overflow");
      }
      return Value::Uint(static_cast<std::uint64_t>(from.real()));
    default:
      break;
  }
  const std::optional<std::uint64_t> natural = ReadUint(from.text());
  return natural ? Value::Uint(*natural) : NoConversion(arena, from, "uint");
}

Value ToStringValue(Arena& arena, Arguments arguments) {
  const Value& from = arguments[0];
  switch (from.kind()) {
    case Kind::kString:
      return from;
    case Kind::kBool:
      return Value::String(from.boolean() ? "true" : "false");
    case Kind::kBytes:
      if (!IsUtf8(from.text())) {
        return arena.Fail("invalid UTF-8 in bytes, cannot convert to string");
      }
      return Value::String(from.text());
    case Kind::kDouble:
      return Value::String(arena.Keep(WriteDouble(from.real())));
    case Kind::kDuration:
      return Value::String(arena.Keep(WriteDuration(from.integer())));
    case Kind::kInt:
      return Value::String(arena.Keep(fmt::format("{}", from.integer())));
    case Kind::kUint:
      return Value::String(arena.Keep(fmt::format("{}", from.natural())));
    default:
      break;
  }
  const Instant instant{.seconds = from.integer(), .nanoseconds = from.nanoseconds()};
  return Value::String(arena.Keep(WriteInstant(instant)));
}

Value ToTimestamp(Arena& arena, Arguments arguments) {
  const Value& from = arguments[0];
  if (from.is(Kind::kTimestamp)) return from;
  if (from.is(Kind::kInt)) {
    if (from.integer() < kInstantMin || from.integer() > kInstantMax) {
      return arena.Fail("timestamp overflow");
    }
    return Value::Timestamp(from.integer(), 0);
  }
  const std::optional<Instant> instant = ReadInstant(from.text());
  if (!instant) return NoConversion(arena, from, "google.protobuf.Timestamp");
  return Value::Timestamp(instant->seconds, instant->nanoseconds);
}

Value Size(Arena& arena, Arguments arguments) {
  const Value& value = arguments[0];
  if (!value.IsText() && !value.is(Kind::kList) && !value.is(Kind::kMap)) {
    return arena.Fail("no such overload: size");
  }
  return Value::Int(static_cast<std::int64_t>(SizeOf(value)));
}

}  // namespace galen::alloc::cel
