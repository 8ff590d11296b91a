// Tested by evaluator_test.cc.
#include "alloc/cel/selection.h"

#include <cmath>
#include <optional>

#include "alloc/cel/values/compare.h"

namespace galen::alloc::cel {
namespace {

// What there is under a key.
struct Found {
  enum class Kind { kValue, kMissing, kError };
  Kind kind = Kind::kMissing;
  Value value = {};  // the error, too
};

std::string ShownKey(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return std::string(key.text());
    case Kind::kInt:
      return fmt::format("{}", key.integer());
    case Kind::kUint:
      return fmt::format("{}", key.natural());
    case Kind::kBool:
      return key.boolean() ? "true" : "false";
    default:
      return std::string(TypeNameOf(key));
  }
}

std::optional<std::int64_t> IndexIn(const Value& key) {
  if (key.is(Kind::kInt)) return key.integer();
  if (key.is(Kind::kUint) && key.natural() <= INT64_MAX) return key.integer();
  if (key.is(Kind::kDouble) && std::trunc(key.real()) == key.real() &&
      std::abs(key.real()) < 9e15) {
    return static_cast<std::int64_t>(key.real());
  }
  return std::nullopt;
}

Found InList(const List& list, const Value& key, Arena& arena) {
  const std::optional<std::int64_t> index = IndexIn(key);
  if (!index) {
    return {.kind = Found::Kind::kError,
            .value = arena.Fail("unsupported index type '{}' in list", TypeNameOf(key))};
  }
  if (*index < 0 || static_cast<std::uint64_t>(*index) >= list.size) return {};
  return {.kind = Found::Kind::kValue, .value = At(list, static_cast<std::size_t>(*index))};
}

Found InMap(const Map& map, const Value& key, Arena& arena) {
  if (const Value* value = Find(map, key)) return {.kind = Found::Kind::kValue, .value = *value};
  if (!map.has_default) return {};
  return {.kind = Found::Kind::kValue, .value = arena.MakeMap({})};
}

Found Look(const Value& operand, const Value& key, Arena& arena) {
  if (operand.is(Kind::kMap)) return InMap(operand.map(), key, arena);
  if (operand.is(Kind::kList)) return InList(operand.list(), key, arena);
  return {};
}

}  // namespace

Value Selected(const Value& operand, const Value& key, bool optional, Arena& arena) {
  if (operand.IsError()) return operand;
  if (operand.is(Kind::kOptional)) {
    if (operand.optional() == nullptr) return operand;
    return Selected(*operand.optional(), key, true, arena);
  }
  const Found found = Look(operand, key, arena);
  if (found.kind == Found::Kind::kError) return found.value;
  if (optional) {
    if (found.kind == Found::Kind::kMissing) return Value::Optional(nullptr);
    return Value::Optional(arena.Keep(found.value));
  }
  if (found.kind == Found::Kind::kValue) return found.value;
  if (operand.is(Kind::kList)) return arena.Fail("index out of bounds: {}", ShownKey(key));
  return arena.Fail("no such key: {}", ShownKey(key));
}

Value HasKey(const Value& operand, const Value& key, Arena& arena) {
  if (operand.IsError()) return operand;
  if (operand.is(Kind::kOptional)) {
    if (operand.optional() == nullptr) return Value::Bool(false);
    return HasKey(*operand.optional(), key, arena);
  }
  const Found found = Look(operand, key, arena);
  if (found.kind == Found::Kind::kError) return found.value;
  return Value::Bool(found.kind == Found::Kind::kValue);
}

}  // namespace galen::alloc::cel
