#include "alloc/cel/values/value.h"

#include <bit>
#include <functional>

#include "alloc/cel/values/compare.h"

namespace galen::alloc::cel {
namespace {

constexpr std::uint64_t kTwoTo63 = 1ull << 63;

std::size_t HashOfDouble(double value) {
  if (value == static_cast<double>(static_cast<std::int64_t>(0))) return 0;
  if (value >= -9.2e18 && value < 9.2e18) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value) return std::hash<std::int64_t>{}(whole);
  }
  return std::hash<double>{}(value);
}

}  // namespace

Value Value::Double(double value) {
  Value result;
  result.kind_ = Kind::kDouble;
  result.real_ = value;
  return result;
}

const Value& At(const List& list, std::size_t index) {
  const List* part = &list;
  while (part->items == nullptr) {
    if (index < part->head->size) {
      part = part->head;
    } else {
      index -= part->head->size;
      part = part->tail;
    }
  }
  return part->items[index];
}

bool IsKey(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kString:
      return true;
    default:
      return false;
  }
}

std::size_t HashOf(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return std::hash<std::string_view>{}(key.text());
    case Kind::kDouble:
      return HashOfDouble(key.real());
    case Kind::kUint:
      // As a double that is equal hashes, which beyond int64 is by its bits.
      if (key.natural() >= kTwoTo63) {
        return std::hash<double>{}(static_cast<double>(key.natural()));
      }
      return std::hash<std::int64_t>{}(key.integer());
    default:
      return std::hash<std::int64_t>{}(key.integer());
  }
}

bool IsSameKey(const Value& key, const Value& other) {
  return key.kind() == other.kind() && AreEqualScalars(key, other);
}

bool Opens(const Value& key, const Value& entry) {
  return (key.is(Kind::kDouble) || !entry.is(Kind::kDouble)) && AreEqualScalars(entry, key);
}

const Value* Find(const Map& map, const Value& key) {
  if (!IsKey(key)) return nullptr;
  const Value* found = nullptr;
  const auto look = [&](const MapEntry& entry) {
    if (found == nullptr && Opens(key, entry.key)) found = &entry.value;
    if (!IsSameKey(key, entry.key)) return false;
    found = &entry.value;
    return true;
  };
  if (map.places == nullptr) {
    for (std::size_t i = 0; i < map.size; ++i) {
      if (look(map.entries[i])) break;
    }
    return found;
  }
  for (std::size_t place = HashOf(key);; ++place) {
    const std::uint32_t at = map.places[place & (map.place_count - 1)];
    if (at == 0 || look(map.entries[at - 1])) return found;
  }
}

std::string_view TypeNameOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kError:
      return "error";
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kType:
      return "type";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kSemver:
      return "kubernetes.Semver";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
  }
  return "";
}

std::size_t CodePoints(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::uint64_t SizeOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return CodePoints(value.text());
    case Kind::kBytes:
      return value.text().size();
    case Kind::kList:
      return value.list().size;
    case Kind::kMap:
      return value.map().size;
    case Kind::kOptional:
      return value.optional() == nullptr ? 1 : SizeOf(*value.optional());
    default:
      return 1;
  }
}

}  // namespace galen::alloc::cel
