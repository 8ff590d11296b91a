#include <vector>

#include "api_sim/objects/built_in_types.h"
#include "base/check.h"

namespace galen::api_sim {
namespace {

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(by);
    if (end != 0) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

Json DefaultOf(std::string_view text) {
  StatusOr<Json> value = Json::Parse(text);
  return value.ok() ? *std::move(value) : Json(text);
}

// "[a,b]" → list of items keyed by a and b; "[]" → replaced whole.
Json ListSchema(Json items, std::string_view keys) {
  Json list = Json::MakeObject({{"type", "array"}, {"items", std::move(items)}});
  list["x-kubernetes-list-type"] = keys.empty() ? "atomic" : "map";
  // Empty for a list that is replaced whole.
  for (const std::string_view key : Split(keys, ','))
    list["x-kubernetes-list-map-keys"].Append(key);
  return list;
}

}  // namespace

TypeNotation::TypeNotation(std::initializer_list<std::string_view> texts) {
  std::string type;
  for (const std::string_view text : texts) {
    for (const std::string_view line : Split(text, '\n')) {
      // An indented line continues the type before it.
      if (line.front() == ' ') {
        fields_[type] += line;
        continue;
      }
      const std::size_t colon = line.find(':');
      GALEN_CHECK(colon != std::string_view::npos);
      type = std::string(line.substr(0, colon));
      fields_[type] = std::string(line.substr(colon + 1));
    }
  }
}

Json TypeNotation::SchemaOfKind(std::string_view type) const {
  Json schema = ObjectOf(type);
  schema["properties"]["apiVersion"] = ValueSchema("string");
  schema["properties"]["kind"] = ValueSchema("string");
  return schema;
}

Json TypeNotation::ObjectOf(std::string_view type) const {
  const auto it = fields_.find(type);
  GALEN_CHECK(it != fields_.end());
  Json schema = Json::MakeObject({{"type", "object"}, {"properties", Json::Object{}}});
  for (const std::string_view field : Split(it->second, ' ')) {
    const std::size_t end = field.find_first_of(":@[{=");
    const std::string_view spelling =
        end == std::string_view::npos ? std::string_view() : field.substr(end);
    schema["properties"][field.substr(0, end)] = FieldSchema(spelling);
  }
  return schema;
}

Json TypeNotation::FieldSchema(std::string_view spelling) const {
  const std::size_t equals = spelling.find('=');
  std::string_view type = spelling.substr(0, equals);
  if (!type.empty() && type.front() == ':') type.remove_prefix(1);
  // The part after the type says how it merges; without a type the field is a string.
  const std::size_t end = type.find_first_of("@[{");
  Json schema = ValueSchema(end == 0 || type.empty() ? "string" : type.substr(0, end));
  std::string_view rest = end == std::string_view::npos ? std::string_view() : type.substr(end);
  if (!rest.empty() && rest.front() == '@') {
    schema["x-kubernetes-map-type"] = "atomic";
    rest.remove_prefix(1);
  }
  if (!rest.empty()) {
    const bool set = rest.front() == '{';
    schema = ListSchema(std::move(schema), rest.substr(1, rest.size() - 2));
    if (set) schema["x-kubernetes-list-type"] = "set";
  }
  if (equals != std::string_view::npos) schema["default"] = DefaultOf(spelling.substr(equals + 1));
  return schema;
}

Json TypeNotation::ValueSchema(std::string_view type) const {
  if (type == "any") return Json::MakeObject({{"x-kubernetes-preserve-unknown-fields", true}});
  if (type == "quantity") return Json::MakeObject({{"x-kubernetes-int-or-string", true}});
  if (type == "time") return Json::MakeObject({{"type", "string"}, {"format", "date-time"}});
  if (type == "string" || type == "number") return Json::MakeObject({{"type", type}});
  if (type == "int") return Json::MakeObject({{"type", "integer"}});
  if (type == "bool") return Json::MakeObject({{"type", "boolean"}});
  if (type.substr(0, 3) == "map" && (type.size() == 3 || type[3] == '.')) {
    return Json::MakeObject(
        {{"type", "object"},
         {"additionalProperties", ValueSchema(type.size() == 3 ? "string" : type.substr(4))}});
  }
  return ObjectOf(type);
}

}  // namespace galen::api_sim
