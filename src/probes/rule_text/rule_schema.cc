#include <fmt/format.h>

#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "probes/rule_fields.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rule_text/rule_text.h"

namespace galen::probes {
namespace {

Json TextOrNumber() {
  Json types{Json::Array()};
  types.Append("string");
  types.Append("number");
  return Json::MakeObject({{"type", std::move(types)}});
}

Json SchemaOfType(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return TextOrNumber();
    case FieldType::kNumber:
      return Json::MakeObject({{"type", "number"}});
    case FieldType::kCount:
      return Json::MakeObject({{"type", "integer"}, {"minimum", 1}, {"maximum", kCountMax}});
    case FieldType::kTime:
      return Json::MakeObject(
          {{"type", "string"},
           {"pattern", "^(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h|d))+)$"}});
    case FieldType::kSwitch:
      return Json::MakeObject({{"type", "boolean"}});
    case FieldType::kTexts:
      return Json::MakeObject({{"type", "array"}, {"items", TextOrNumber()}});
    case FieldType::kLabels:
      return Json::MakeObject({{"type", "object"}, {"additionalProperties", TextOrNumber()}});
    case FieldType::kShare: {
      Json forms{Json::Array()};
      forms.Append(Json::MakeObject({{"const", "ratio"}}));
      forms.Append(Json::MakeObject({{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}}));
      return Json::MakeObject({{"anyOf", std::move(forms)}});
    }
  }
  GALEN_UNREACHABLE();
}

Json SchemaOfField(const Field& field) {
  Json schema = SchemaOfType(field.type);
  if (!field.choices.empty()) {
    Json names{Json::Array()};
    std::istringstream words{std::string(field.choices)};
    for (std::string word; words >> word;) names.Append(word);
    schema = Json::MakeObject({{"enum", std::move(names)}});
  }
  schema["description"] = std::string(field.help);
  return schema;
}

// `defaults` of a sign have the fields of its rules, of which none is missing there.
Json SchemaOfRow(RowKind kind, bool with_required) {
  Json properties{Json::Object()};
  Json required{Json::Array()};
  for (const Field& field : FieldsOf(kind)) {
    properties[field.name] = SchemaOfField(field);
    // A rule may have a missing field from the defaults of its sign.
    const bool own = kind != RowKind::kRule || field.name == "id" || field.name == "sign";
    if (with_required && field.required && own) required.Append(std::string(field.name));
  }
  return Json::MakeObject({{"type", "object"},
                           {"additionalProperties", false},
                           {"properties", std::move(properties)},
                           {"required", std::move(required)}});
}

Json ListOf(RowKind kind, std::size_t most) {
  return Json::MakeObject(
      {{"type", "array"}, {"maxItems", most}, {"items", SchemaOfRow(kind, true)}});
}

Json BuiltInNames() {
  Json names{Json::Array()};
  std::istringstream list(BuiltInRuleNames());
  for (std::string name; std::getline(list >> std::ws, name, ',');) names.Append(name);
  return Json::MakeObject({{"enum", std::move(names)},
                           {"description", "a built-in table whose rows this file has too"}});
}

// A table stands for itself, or extends another.
Json WholeOrExtended() {
  const auto required = [](std::initializer_list<const char*> names) {
    Json list{Json::Array()};
    for (const char* name : names) list.Append(name);
    return Json::MakeObject({{"required", std::move(list)}});
  };
  Json forms{Json::Array()};
  forms.Append(required({"extends"}));
  forms.Append(required({"signs", "rules"}));
  return forms;
}

}  // namespace

Json RulesSchema() {
  Json defaults = Json::MakeObject({{"type", "object"},
                                    {"description", "by sign: fields of its rules"},
                                    {"additionalProperties", SchemaOfRow(RowKind::kRule, false)}});
  Json properties = Json::MakeObject({{"extends", BuiltInNames()},
                                      {"exporters", ListOf(RowKind::kExporter, kExportersMax)},
                                      {"signs", ListOf(RowKind::kSign, kSignsMax)},
                                      {"defaults", std::move(defaults)},
                                      {"rules", ListOf(RowKind::kRule, kRulesMax)}});
  return Json::MakeObject({{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                           {"$id", "https://galen.dev/schemas/rules.schema.json"},
                           {"title", "Rules of a driver's devices"},
                           {"type", "object"},
                           {"additionalProperties", false},
                           {"properties", std::move(properties)},
                           {"anyOf", WholeOrExtended()}});
}

}  // namespace galen::probes
