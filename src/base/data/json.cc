#include "base/data/json.h"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/code_point.h"
namespace galen {
namespace {

// Whether a number that does not fit a double is too large rather than too near to zero.
bool IsTooLarge(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  std::string_view power = number.substr(std::min(mark + 1, number.size()));
  const bool below_one = power.starts_with('-');
  if (power.starts_with('+')) power.remove_prefix(1);
  std::int64_t exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec ==
      std::errc::result_out_of_range) {
    return !below_one;
  }
  const std::string_view digits = number.substr(0, mark);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  // A nonzero digit exists: zero is within the range of a double.
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  // Compared without adding: the exponent may be the smallest int64.
  return exponent > first - point;
}

// A number as RFC 8259 spells it, which the parser has seen to; nullopt: too large for a double.
// By ourselves, because RapidJSON 1.1 makes "not a number" of some that are near to zero.
std::optional<Json> ReadNumber(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && rest == end) return Json(whole);
  double number = 0;
  if (std::from_chars(text.data(), end, number).ec == std::errc()) return Json(number);
  if (IsTooLarge(text)) return std::nullopt;
  return Json(0.0);
}

// Builds a Json from the parser's events; refuses to go deeper than Json::kDepthMax.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  using Size = rapidjson::SizeType;

  bool Null() { return Add(Json()); }
  bool Bool(bool value) { return Add(Json(value)); }
  bool RawNumber(const char* text, Size size, bool) {
    std::optional<Json> number = ReadNumber({text, size});
    if (!number) return Refuse("a number is too big to be stored in a double");
    return Add(*std::move(number));
  }
  bool String(const char* text, Size size, bool) {
    return IsWhole({text, size}) && Add(Json(std::string(text, size)));
  }
  bool Key(const char* text, Size size, bool) {
    open_.back().key.assign(text, size);
    return IsWhole(open_.back().key);
  }
  bool StartObject() { return Open(Json(Json::Object())); }
  bool StartArray() { return Open(Json(Json::Array())); }
  // Sizes are ignored: what was added is counted by the containers themselves.
  bool EndObject(Size) { return Close(); }
  bool EndArray(Size) { return Close(); }

  Json Take() { return std::move(root_); }
  // Why one of the events above was refused.
  const std::string& fault() const { return fault_; }

 private:
  // A container whose end has not come, and the key that waits for its value.
  struct Level {
    Json value;
    std::string key;
  };

  bool Refuse(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  // The parser turns the lone second half of a surrogate pair ("\udc00") into bytes that are not
  // UTF-8; all else it checks itself.
  bool IsWhole(std::string_view text) {
    for (std::size_t at = text.find('\xED'); at < text.size(); at = text.find('\xED', at + 1)) {
      if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xA0) {
        return Refuse("half of a surrogate pair stands alone");
      }
    }
    return true;
  }

  bool Open(Json value) {
    if (open_.size() >= static_cast<std::size_t>(Json::kDepthMax)) {
      return Refuse(fmt::format("it is nested deeper than {} levels", Json::kDepthMax));
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool Close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return Add(std::move(value));
  }

  bool Add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Level& level = open_.back(); level.value.is_array()) {
      level.value.Append(std::move(value));
    } else {
      level.value.MutableMembers().insert_or_assign(std::move(level.key), std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Level> open_;
  std::string fault_;
};

// Recursion is bounded by what Parse lets in; values built by hand stay shallow.
template <typename Writer>
void Write(const Json& value, Writer& writer) {
  if (value.is_bool()) {
    writer.Bool(value.AsBool());
  } else if (value.is_int()) {
    writer.Int64(value.AsInt());
  } else if (value.is_double() && std::isfinite(value.AsDouble())) {
    writer.Double(value.AsDouble());
  } else if (value.is_string()) {
    const std::string& text = value.AsString();
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  } else if (value.is_array()) {
    writer.StartArray();
    for (const Json& item : value.items()) Write(item, writer);
    writer.EndArray();
  } else if (value.is_object()) {
    writer.StartObject();
    for (const auto& [key, member] : value.members()) {
      writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
      Write(member, writer);
    }
    writer.EndObject();
  } else {
    writer.Null();  // also for what JSON cannot say: an infinity, "not a number"
  }
}

const Json& NullJson() {
  static const Json null;
  return null;
}

}  // namespace

Json::Json(unsigned long value) {
  // resourceVersions and sizes fit; a larger number becomes a double and loses its last digits.
  constexpr auto kIntMax = static_cast<unsigned long>(std::numeric_limits<std::int64_t>::max());
  if (value <= kIntMax) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = static_cast<double>(value);
  }
}

Json Json::MakeObject(std::initializer_list<std::pair<const std::string, Json>> members) {
  return Json(Object(members));
}

bool Json::AsBool(bool otherwise) const {
  const bool* value = std::get_if<bool>(&value_);
  return value != nullptr ? *value : otherwise;
}

std::int64_t Json::AsInt(std::int64_t otherwise) const {
  const std::int64_t* value = std::get_if<std::int64_t>(&value_);
  return value != nullptr ? *value : otherwise;
}

double Json::AsDouble(double otherwise) const {
  if (is_int()) return static_cast<double>(AsInt());
  const double* value = std::get_if<double>(&value_);
  return value != nullptr ? *value : otherwise;
}

const std::string& Json::AsString() const {
  // Static, so that a reference to an absent text stays valid.
  static const std::string empty;
  const std::string* value = std::get_if<std::string>(&value_);
  return value != nullptr ? *value : empty;
}

const Json::Array& Json::items() const {
  static const Array empty;
  const Array* value = std::get_if<Array>(&value_);
  return value != nullptr ? *value : empty;
}

const Json::Object& Json::members() const {
  static const Object empty;
  const Object* value = std::get_if<Object>(&value_);
  return value != nullptr ? *value : empty;
}

const Json& Json::Member(std::string_view key) const {
  const Json* found = Find(key);
  return found != nullptr ? *found : NullJson();
}

const Json& Json::operator[](std::size_t index) const {
  const Array& array = items();
  return index < array.size() ? array[index] : NullJson();
}

const Json* Json::Find(std::string_view key) const {
  const Object& object = members();
  const auto found = object.find(key);
  return found != object.end() ? &found->second : nullptr;
}

Json& Json::MutableMember(std::string_view key) {
  Object& object = MutableMembers();
  const auto found = object.find(key);
  if (found != object.end()) return found->second;
  return object.emplace(key, Json()).first->second;
}

Json::Array& Json::MutableItems() {
  if (is_null()) value_ = Array();
  GALEN_CHECK(is_array());
  return std::get<Array>(value_);
}

Json::Object& Json::MutableMembers() {
  if (is_null()) value_ = Object();
  GALEN_CHECK(is_object());
  return std::get<Object>(value_);
}

bool Json::Erase(std::string_view key) {
  if (Find(key) == nullptr) return false;
  Object& object = MutableMembers();
  object.erase(object.find(key));
  return true;
}

std::string Json::Dump() const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  Write(*this, writer);
  // RapidJSON escapes only the control characters below the space; the others could command a
  // terminal.
  return EscapeHighControls({buffer.GetString(), buffer.GetSize()});
}

std::string Json::DumpPretty(int indent) const {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', static_cast<unsigned>(indent));
  Write(*this, writer);
  return EscapeHighControls({buffer.GetString(), buffer.GetSize()});
}

StatusOr<Json> Json::Parse(std::string_view text) {
  // Iterative: a deep text must not use up the stack before our own bound is met.
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream bytes(text.data(), text.size());
  Builder builder;
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(bytes, builder);
  if (result.IsError()) {
    // Termination means that the Builder said no and knows why.
    const bool refused = result.Code() == rapidjson::kParseErrorTermination;
    return InvalidArgument("JSON is broken at byte {}: {}", result.Offset(),
                           refused ? builder.fault() : rapidjson::GetParseError_En(result.Code()));
  }
  // The parser takes a zero byte for the end.
  if (bytes.Tell() != text.size()) {
    return InvalidArgument("JSON has a zero byte at byte {}", bytes.Tell());
  }
  return builder.Take();
}

}  // namespace galen
