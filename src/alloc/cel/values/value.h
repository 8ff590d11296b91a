// What a CEL expression computes with. A value is three machine words that own nothing: what they
// refer to lives in the device, in the program's constants, or in the arena of one evaluation.
// Values; any thread, as long as their owner lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloc/quantity.h"
#include "alloc/semantic_version.h"

namespace galen::alloc::cel {

struct List;
struct Map;

// What a value is of.
enum class Kind : std::uint8_t {
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kType,
  kOptional,
  kQuantity,
  kSemver,
  kList,
  kMap,
};

class Value {
 public:
  // Null.
  Value() : integer_(0) {}
  static Value Bool(bool value) { return {Kind::kBool, static_cast<std::int64_t>(value), 0}; }
  static Value Int(std::int64_t value) { return {Kind::kInt, value, 0}; }
  static Value Uint(std::uint64_t value) {
    return {Kind::kUint, static_cast<std::int64_t>(value), 0};
  }
  static Value Double(double value);
  static Value String(std::string_view text) { return {Kind::kString, text}; }
  static Value Bytes(std::string_view bytes) { return {Kind::kBytes, bytes}; }
  static Value TypeName(std::string_view name) { return {Kind::kType, name}; }
  static Value Error(std::string_view text) { return {Kind::kError, text}; }
  // Since 1970, UTC; 0 <= nanoseconds < 1e9.
  static Value Timestamp(std::int64_t seconds, std::uint32_t nanoseconds) {
    return {Kind::kTimestamp, seconds, nanoseconds};
  }
  static Value Duration(std::int64_t nanoseconds) { return {Kind::kDuration, nanoseconds, 0}; }
  // Null stands for optional.none().
  static Value Optional(const Value* value) { return {Kind::kOptional, value}; }
  static Value Of(const Quantity* quantity) { return {Kind::kQuantity, quantity}; }
  static Value Of(const SemanticVersion* version) { return {Kind::kSemver, version}; }
  static Value Of(const List* list) { return {Kind::kList, list}; }
  static Value Of(const Map* map) { return {Kind::kMap, map}; }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool IsError() const { return kind_ == Kind::kError; }
  bool IsTrue() const { return kind_ == Kind::kBool && integer_ != 0; }
  bool IsFalse() const { return kind_ == Kind::kBool && integer_ == 0; }
  bool IsText() const { return kind_ == Kind::kString || kind_ == Kind::kBytes; }

  // REQUIRES, for all that follow: the kind that the name says.
  bool boolean() const { return integer_ != 0; }
  std::int64_t integer() const { return integer_; }
  std::uint64_t natural() const { return static_cast<std::uint64_t>(integer_); }
  double real() const { return real_; }
  // What a string, bytes, a type's name or an error has.
  std::string_view text() const { return {characters_, extra_}; }
  // What a timestamp has beside its seconds, which are integer().
  std::uint32_t nanoseconds() const { return static_cast<std::uint32_t>(extra_); }
  const Value* optional() const { return static_cast<const Value*>(pointer_); }
  const Quantity& quantity() const { return *static_cast<const Quantity*>(pointer_); }
  const SemanticVersion& version() const { return *static_cast<const SemanticVersion*>(pointer_); }
  const List& list() const { return *static_cast<const List*>(pointer_); }
  const Map& map() const { return *static_cast<const Map*>(pointer_); }

 private:
  Value(Kind kind, std::int64_t integer, std::size_t extra)
      : kind_(kind), integer_(integer), extra_(extra) {}
  Value(Kind kind, std::string_view text)
      : kind_(kind), characters_(text.data()), extra_(text.size()) {}
  Value(Kind kind, const void* pointer) : kind_(kind), pointer_(pointer) {}

  Kind kind_ = Kind::kNull;
  union {
    std::int64_t integer_;
    double real_;
    const char* characters_;
    const void* pointer_;
  };
  std::size_t extra_ = 0;
};

// Elements in a row, or two lists one after the other: what `+` makes of long ones, so that
// doubling a list costs no memory.
struct List {
  std::size_t size = 0;
  const Value* items = nullptr;  // null: `head` and `tail`
  const List* head = nullptr;
  const List* tail = nullptr;
  int depth = 0;  // how many lists reading an element passes
};
// REQUIRES: index < list.size.
const Value& At(const List& list, std::size_t index);

// A key and what is under it.
struct MapEntry {
  Value key;
  Value value;
};
// Entries in the order in which they were made.
struct Map {
  std::size_t size = 0;
  const MapEntry* entries = nullptr;
  // Places of entries by their keys' hashes, +1, 0 for none; null for a small map.
  const std::uint32_t* places = nullptr;
  std::size_t place_count = 0;
  // device.attributes and device.capacity: reading a key that is not there yields an empty map.
  bool has_default = false;
};
// Whether a key finds an entry: 1, 1u and 1.0 all find 1 and 1u, and 1.0 alone finds 1.0, as in
// cel-go.
bool Opens(const Value& key, const Value& entry);
// Whether they are of one kind, too.
bool IsSameKey(const Value& key, const Value& other);
// The value of a key, of the same kind where there are several; null when there is none.
const Value* Find(const Map& map, const Value& key);
// Only for keys that IsKey; equal keys have equal hashes.
std::size_t HashOf(const Value& key);
// A bool, int, uint, string, or a double, which reads what a whole number wrote.
bool IsKey(const Value& value);

// "int", "google.protobuf.Timestamp", "kubernetes.Quantity": what type() shows.
std::string_view TypeNameOf(const Value& value);
// Elements, entries, code points of a string, bytes; 1 for all else. Of an optional: of its value.
std::uint64_t SizeOf(const Value& value);
// How many code points a text has; a broken byte counts as one.
std::size_t CodePoints(std::string_view text);

}  // namespace galen::alloc::cel
