// A JSON value: null, bool, number, string, array or object, owned and copyable.
// Values; free of threads. Objects are ordered by key, so equal values have equal text.
// Reading what is not there gives null instead of failing: Kubernetes objects are full of absent
// fields. Parsing and writing are RapidJSON's, behind this header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace galen {

// Types that can name a member.
template <typename T>
concept JsonKey = std::is_convertible_v<const T&, std::string_view>;

class Json {
 public:
  // Arrays and objects copy deeply. Keys are ordered by bytes; a key comes once.
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  // null.
  Json() = default;
  Json(std::nullptr_t) {}
  // From whatever holds such a value, so that literals can stand in MakeObject.
  Json(bool value) : value_(value) {}
  Json(int value) : value_(static_cast<std::int64_t>(value)) {}
  Json(unsigned value) : value_(static_cast<std::int64_t>(value)) {}
  Json(long value) : value_(static_cast<std::int64_t>(value)) {}
  Json(long long value) : value_(static_cast<std::int64_t>(value)) {}
  Json(unsigned long value);  // beyond int64 it becomes a double
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  // Json::MakeObject({{"kind", "Pod"}, {"spec", std::move(spec)}})
  // When a key comes twice, the first counts (Parse takes the last).
  static Json MakeObject(std::initializer_list<std::pair<const std::string, Json>> members);
  static Json MakeArray(std::initializer_list<Json> items) { return Json(Array(items)); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // What this holds, or `otherwise` when it holds something else. No conversion but one: an integer
  // reads as a double. A double never reads as an integer, not even 3.0.
  bool AsBool(bool otherwise = false) const;
  std::int64_t AsInt(std::int64_t otherwise = 0) const;
  double AsDouble(double otherwise = 0) const;
  const std::string& AsString() const;  // "" when this is no string
  const Array& items() const;           // empty when this is no array
  const Object& members() const;        // empty when this is no object

  // The member `key`, or null when there is none or this is not an object. Chains:
  // pod["spec"]["nodeName"]. Keys are any text; a template, so that [0] means the first item.
  template <JsonKey Key>
  const Json& operator[](const Key& key) const {
    return Member(key);
  }
  // The item at `index`, or null past the end or when this is not an array.
  const Json& operator[](std::size_t index) const;
  // Distinguishes an absent member from one that is null, which operator[] does not.
  const Json* Find(std::string_view key) const;  // nullptr when absent
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // The member to write to; null becomes an object first. REQUIRES: null or object.
  template <JsonKey Key>
  Json& operator[](const Key& key) {
    return MutableMember(key);
  }
  // For changing in place. null becomes an array/object first. REQUIRES: null or of that type;
  // anything else is our bug and ends the process.
  Array& MutableItems();
  Object& MutableMembers();
  void Append(Json item) { MutableItems().push_back(std::move(item)); }
  // True when there was such a member.
  bool Erase(std::string_view key);

  bool operator==(const Json&) const = default;

  // Compact text without newlines; strings are escaped, control characters too. What JSON cannot
  // say (an infinity, "not a number") becomes null.
  std::string Dump() const;
  // Indents by `indent` spaces a level; kubectl -o json uses 4.
  std::string DumpPretty(int indent = 2) const;

  // Reads one value of RFC 8259. At most kDepthMax levels; InvalidArgument names the byte. Text
  // after the value, a zero byte and bytes that are not UTF-8 are errors. Of a key that comes twice
  // the last counts, as in Kubernetes. Whole numbers keep 64 signed bits; beyond, and with a
  // fraction or an exponent, they are doubles. The size is for the caller to bound.
  static StatusOr<Json> Parse(std::string_view text);

  static constexpr int kDepthMax = 128;  // Kubernetes objects stay below 30; a bomb does not

 private:
  const Json& Member(std::string_view key) const;
  Json& MutableMember(std::string_view key);

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace galen
