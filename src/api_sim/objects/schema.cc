#include "api_sim/objects/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/time.h"

namespace galen::api_sim {
namespace {

// The standard library's matcher recurses once a character: a longer text could end the process by
// its stack. At the limit the text counts as not matching.
constexpr std::size_t kPatternTextBytesMax = 4096;

bool IsOpen(const Json& schema) { return schema["x-kubernetes-preserve-unknown-fields"].AsBool(); }

std::string ItemPath(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

std::string TypeName(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_int()) return "integer";
  if (value.is_double()) return "number";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

// A JSON number without a fraction is an integer and a number both.
bool HasType(const Json& schema, const Json& value) {
  if (value.is_null()) return schema["nullable"].AsBool();
  if (schema["x-kubernetes-int-or-string"].AsBool()) return value.is_number() || value.is_string();
  const std::string& type = schema["type"].AsString();
  if (type.empty()) return true;
  return type == TypeName(value) || (type == "number" && value.is_int());
}

std::string WantedType(const Json& schema) {
  return schema["x-kubernetes-int-or-string"].AsBool() ? "integer,string"
                                                       : schema["type"].AsString();
}

// Code points, as the schema counts lengths.
std::int64_t LengthOf(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

void CheckString(const Json& schema, const Json& value, const std::string& path, Faults& faults) {
  const std::int64_t length = LengthOf(value.AsString());
  const Json& most = schema["maxLength"];
  if (most.is_int() && length > most.AsInt()) {
    // Lengths count code points, but the message says bytes, as a real API server's does.
    faults.push_back(TooLongFault(path, static_cast<std::size_t>(most.AsInt())));
  }
  if (length < schema["minLength"].AsInt()) {
    faults.push_back(InvalidFault(path, value,
                                  fmt::format("{} in body should be at least {} chars long", path,
                                              schema["minLength"].AsInt())));
  }
  if (schema["format"].AsString() == "date-time" && !ParseRfc3339(value.AsString()).ok()) {
    faults.push_back(TypeFault(
        path, value, fmt::format("{} in body must be of type date-time: {}", path, value.Dump())));
  }
  const std::string& pattern = schema["pattern"].AsString();
  if (pattern.empty()) return;
  if (value.AsString().size() > kPatternTextBytesMax) {
    faults.push_back(InvalidFault(
        path, value,
        fmt::format("{} in body is longer than the {} bytes that can be matched with '{}'", path,
                    kPatternTextBytesMax, pattern)));
    return;
  }
  // The pattern was compiled once when the definition was accepted, so it does compile.
  if (!std::regex_search(value.AsString(), std::regex(pattern, std::regex::ECMAScript))) {
    faults.push_back(
        InvalidFault(path, value, fmt::format("{} in body should match '{}'", path, pattern)));
  }
}

void CheckNumber(const Json& schema, const Json& value, const std::string& path, Faults& faults) {
  // Exclusive bounds are booleans beside the bound, as OpenAPI v3.0 has them.
  const Json& least = schema["minimum"];
  const Json& most = schema["maximum"];
  const bool above = schema["exclusiveMinimum"].AsBool();
  const bool below = schema["exclusiveMaximum"].AsBool();
  const double number = value.AsDouble();
  if (least.is_number() && (above ? number <= least.AsDouble() : number < least.AsDouble())) {
    faults.push_back(InvalidFault(path, value,
                                  fmt::format("{} in body should be greater than {}{}", path,
                                              above ? "" : "or equal to ", least.Dump())));
  }
  if (most.is_number() && (below ? number >= most.AsDouble() : number > most.AsDouble())) {
    faults.push_back(InvalidFault(path, value,
                                  fmt::format("{} in body should be less than {}{}", path,
                                              below ? "" : "or equal to ", most.Dump())));
  }
}

void CheckArray(const Json& schema, const Json& value, const std::string& path, Faults& faults) {
  const Json& most = schema["maxItems"];
  const std::size_t count = value.items().size();
  if (most.is_int() && count > static_cast<std::size_t>(most.AsInt())) {
    faults.push_back(TooManyFault(path, count, static_cast<std::size_t>(most.AsInt())));
    return;
  }
  if (count < static_cast<std::size_t>(schema["minItems"].AsInt())) {
    faults.push_back(InvalidFault(
        path, static_cast<std::int64_t>(count),
        fmt::format("{} in body should have at least {} items", path, schema["minItems"].AsInt())));
  }
  // Identities as compact JSON, whose members are in a fixed order.
  std::set<std::string> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const Json identity = ListItemIdentity(schema, value[i]);
    if (!identity.is_null() && !seen.insert(identity.Dump()).second) {
      faults.push_back(DuplicateFault(ItemPath(path, i), identity));
    }
    const Faults inner = ValidateSchema(schema["items"], value[i], ItemPath(path, i));
    faults.insert(faults.end(), inner.begin(), inner.end());
  }
}

void CheckObject(const Json& schema, const Json& value, const std::string& path, Faults& faults) {
  for (const Json& name : schema["required"].items()) {
    if (!value.Has(name.AsString())) faults.push_back(RequiredFault(Under(path, name.AsString())));
  }
  const Json& most = schema["maxProperties"];
  if (most.is_int() && value.members().size() > static_cast<std::size_t>(most.AsInt())) {
    faults.push_back(
        TooManyFault(path, value.members().size(), static_cast<std::size_t>(most.AsInt())));
  }
  for (const auto& [name, member] : value.members()) {
    const Json* inner = schema["properties"].Find(name);
    if (inner == nullptr) inner = schema.Find("additionalProperties");
    if (inner == nullptr || !inner->is_object()) continue;
    const Faults found = ValidateSchema(*inner, member, Under(path, name));
    faults.insert(faults.end(), found.begin(), found.end());
  }
}

}  // namespace

void ApplyDefaults(const Json& schema, Json& value) {
  if (value.is_array()) {
    for (Json& item : value.MutableItems()) ApplyDefaults(schema["items"], item);
  }
  if (!value.is_object()) return;
  for (const auto& [name, inner] : schema["properties"].members()) {
    const Json* fallback = inner.Find("default");
    const Json* present = value.Find(name);
    // A default replaces an absent value; its own members get their defaults below.
    const bool absent = present == nullptr || (present->is_null() && !inner["nullable"].AsBool());
    if (absent && fallback != nullptr) value[name] = *fallback;
    if (value.Has(name)) ApplyDefaults(inner, value[name]);
  }
  const Json& rest = schema["additionalProperties"];
  if (!rest.is_object()) return;
  for (auto& [name, member] : value.MutableMembers()) {
    if (!schema["properties"].Has(name)) ApplyDefaults(rest, member);
  }
}

std::vector<std::string> Prune(const Json& schema, Json& value, const std::string& path) {
  std::vector<std::string> dropped;
  const auto keep = [&dropped](std::vector<std::string> more) {
    dropped.insert(dropped.end(), more.begin(), more.end());
  };
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      keep(Prune(schema["items"], value.MutableItems()[i], ItemPath(path, i)));
    }
  }
  if (!value.is_object()) return dropped;
  const Json& rest = schema["additionalProperties"];
  // Unknown members of an open object stay; known ones are pruned inside.
  const bool open = IsOpen(schema) || rest.is_object() || rest.AsBool();
  for (auto it = value.MutableMembers().begin(); it != value.MutableMembers().end();) {
    const Json* inner = schema["properties"].Find(it->first);
    if (inner == nullptr && !open) {
      dropped.push_back(Under(path, it->first));
      it = value.MutableMembers().erase(it);
      continue;
    }
    if (inner != nullptr) keep(Prune(*inner, it->second, Under(path, it->first)));
    if (inner == nullptr && rest.is_object()) keep(Prune(rest, it->second, Under(path, it->first)));
    ++it;
  }
  return dropped;
}

Faults ValidateSchema(const Json& schema, const Json& value, const std::string& path) {
  Faults faults;
  if (!HasType(schema, value)) {
    faults.push_back(TypeFault(path, TypeName(value),
                               fmt::format("{} in body must be of type {}: \"{}\"", path,
                                           WantedType(schema), TypeName(value))));
    return faults;
  }
  const Json::Array& allowed = schema["enum"].items();
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    std::vector<std::string> names;
    for (const Json& item : allowed)
      names.push_back(item.is_string() ? item.AsString() : item.Dump());
    faults.push_back(NotSupportedFault(path, value, names));
  }
  if (value.is_string()) CheckString(schema, value, path, faults);
  if (value.is_number()) CheckNumber(schema, value, path, faults);
  if (value.is_array()) CheckArray(schema, value, path, faults);
  if (value.is_object()) CheckObject(schema, value, path, faults);
  return faults;
}

Json ListItemIdentity(const Json& list_schema, const Json& item) {
  const std::string& type = list_schema["x-kubernetes-list-type"].AsString();
  if (type == "set") return item;
  if (type != "map") return nullptr;
  Json identity = Json::MakeObject({});
  for (const Json& key : list_schema["x-kubernetes-list-map-keys"].items()) {
    const std::string& name = key.AsString();
    const Json* own = item.Find(name);
    const Json& value = own != nullptr ? *own : list_schema["items"]["properties"][name]["default"];
    if (!value.is_null()) identity[name] = value;
  }
  return identity;
}

void DropNulls(Json& value) {
  if (value.is_array()) {
    for (Json& item : value.MutableItems()) DropNulls(item);
  }
  if (!value.is_object()) return;
  std::erase_if(value.MutableMembers(), [](const auto& member) { return member.second.is_null(); });
  for (auto& [name, member] : value.MutableMembers()) DropNulls(member);
}

void DropEmpty(const Json& schema, Json& value) {
  if (value.is_array()) {
    for (Json& item : value.MutableItems()) DropEmpty(schema["items"], item);
  }
  if (!value.is_object()) return;
  const Json& rest = schema["additionalProperties"];
  for (auto it = value.MutableMembers().begin(); it != value.MutableMembers().end();) {
    const Json* known = schema["properties"].Find(it->first);
    const Json& inner = known != nullptr ? *known : rest;
    DropEmpty(inner, it->second);
    const bool is_list = inner["type"].AsString() == "array";
    const bool is_map = inner["additionalProperties"].is_object();
    const bool empty = it->second.items().empty() && it->second.members().empty();
    const bool container = it->second.is_array() || it->second.is_object();
    const bool goes = known != nullptr && (is_list || is_map) && container && empty;
    it = goes ? value.MutableMembers().erase(it) : std::next(it);
  }
}

std::string Under(const std::string& path, std::string_view member) {
  return path.empty() ? std::string(member) : fmt::format("{}.{}", path, member);
}

}  // namespace galen::api_sim
