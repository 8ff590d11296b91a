// Tested by tests/contract/custom_resource_test.cc.
#include "api_sim/objects/custom_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "api_sim/objects/built_in_types.h"
#include "api_sim/objects/schema.h"
#include "base/text.h"

namespace galen::api_sim {
namespace {

// ASCII only, which suffices for kinds.
std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

Json Condition(const char* type, const char* reason, const char* message, WallTime now) {
  return Json::MakeObject({{"type", type},
                           {"status", "True"},
                           {"reason", reason},
                           {"message", message},
                           {"lastTransitionTime", FormatRfc3339(now)}});
}

std::vector<std::string> Strings(const Json& list) {
  std::vector<std::string> strings;
  for (const Json& item : list.items()) strings.push_back(item.AsString());
  return strings;
}

// A definition in such a group would replace a built-in kind; deleting the definition would then
// remove the kind with all its objects.
bool IsBuiltInGroup(const std::string& group) {
  static const std::set<std::string> kGroups = [] {
    std::set<std::string> groups;
    for (const Kind& kind : BuiltInKinds()) groups.insert(kind.resource.group);
    return groups;
  }();
  return kGroups.contains(group);
}

// Every pattern in the schema must compile here, or validation could fail later for no fault of the
// object.
void CheckPatterns(const Json& schema, const std::string& path, Faults& faults) {
  if (const std::string& pattern = schema["pattern"].AsString(); !pattern.empty()) {
    // The standard library answers a broken pattern with an exception; it ends here.
    try {
      const std::regex compiled(pattern, std::regex::ECMAScript);
    } catch (const std::regex_error& error) {
      faults.push_back(InvalidFault(Under(path, "pattern"), pattern, error.what()));
    }
  }
  for (const auto& [name, inner] : schema["properties"].members()) {
    CheckPatterns(inner, fmt::format("{}.properties[{}]", path, name), faults);
  }
  for (const char* field : {"items", "additionalProperties"}) {
    if (schema[field].is_object()) CheckPatterns(schema[field], Under(path, field), faults);
  }
}

void CheckVersions(const Json& spec, Faults& faults) {
  // Exactly one version must be stored; this fault of the list is reported after the faults of its
  // items.
  int stored = 0;
  const Json& versions = spec["versions"];
  for (std::size_t i = 0; i < versions.items().size(); ++i) {
    const std::string path = fmt::format("spec.versions[{}]", i);
    if (versions[i]["storage"].AsBool()) ++stored;
    if (!IsDnsLabel(versions[i]["name"].AsString())) {
      faults.push_back(
          InvalidFault(Under(path, "name"), versions[i]["name"], "must be a DNS label (RFC 1123)"));
    }
    const Json& schema = versions[i]["schema"]["openAPIV3Schema"];
    if (!schema.is_object()) {
      faults.push_back(
          RequiredFault(Under(path, "schema.openAPIV3Schema"), "schemas are required"));
    } else if (schema["type"].AsString() != "object") {
      faults.push_back(InvalidFault(Under(path, "schema.openAPIV3Schema.type"), schema["type"],
                                    "must be object at the root"));
    }
    CheckPatterns(schema, Under(path, "schema.openAPIV3Schema"), faults);
  }
  if (stored == 1) return;
  faults.push_back(InvalidFault("spec.versions", versions,
                                "must have exactly one version marked as storage version"));
}

// The version's schema, with the apiVersion, kind and metadata of every object.
Json WholeSchema(const Json& version) {
  Json schema = version["schema"]["openAPIV3Schema"];
  const Json any_kind = BuiltInSchema("CustomResourceDefinition");
  // Authors need not describe these, and may not describe them differently.
  for (const char* field : {"apiVersion", "kind", "metadata"})
    schema["properties"][field] = any_kind["properties"][field];
  return schema;
}

std::vector<Column> ColumnsOf(const Json& version) {
  std::vector<Column> columns{{.name = "Name", .format = "name", .path = ".metadata.name"}};
  for (const Json& column : version["additionalPrinterColumns"].items()) {
    columns.push_back({.name = column["name"].AsString(),
                       .type = column["type"].AsString(),
                       .format = column["format"].AsString(),
                       .description = column["description"].AsString(),
                       .priority = static_cast<int>(column["priority"].AsInt()),
                       .path = column["jsonPath"].AsString()});
  }
  // Without columns of their own, kinds show their age, as upstream.
  if (columns.size() == 1) {
    columns.push_back({.name = "Age", .type = "date", .path = ".metadata.creationTimestamp"});
  }
  return columns;
}

std::vector<std::string> SelectableFields(const Json& version) {
  std::vector<std::string> fields;
  for (const Json& field : version["selectableFields"].items()) {
    const std::string& path = field["jsonPath"].AsString();
    // Field selectors are written without the leading dot of a JSONPath.
    if (!path.empty() && path.front() == '.') fields.push_back(path.substr(1));
  }
  return fields;
}

}  // namespace

void PrepareDefinition(Json& definition, WallTime now) {
  Json& spec = definition["spec"];
  Json& names = spec["names"];
  if (!names.is_object()) names = Json::MakeObject({});
  const std::string kind = std::as_const(names)["kind"].AsString();
  if (!names.Has("singular")) names["singular"] = Lower(kind);
  if (!names.Has("listKind")) names["listKind"] = kind + "List";
  if (!spec.Has("conversion")) spec["conversion"] = Json::MakeObject({{"strategy", "None"}});
  Json& status = definition["status"];
  status["acceptedNames"] = names;
  // Once: later writes keep the times of the first.
  if (!status.Has("conditions")) {
    status["conditions"] =
        Json::MakeArray({Condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                         Condition("Established", "InitialNamesAccepted",
                                   "the initial names have been accepted", now)});
  }
  // All versions that were ever stored are listed, also after another becomes the stored one.
  for (const Json& version : std::as_const(spec)["versions"].items()) {
    if (!version["storage"].AsBool()) continue;
    Json& stored = status["storedVersions"];
    const Json::Array& known = stored.items();
    if (std::find(known.begin(), known.end(), version["name"]) == known.end()) {
      stored.Append(version["name"]);
    }
  }
}

Faults CheckDefinition(const Json& definition) {
  Faults faults;
  const Json& spec = definition["spec"];
  const std::string& group = spec["group"].AsString();
  const std::string& plural = spec["names"]["plural"].AsString();
  const std::string& scope = spec["scope"].AsString();
  if (group.empty()) faults.push_back(RequiredFault("spec.group"));
  if (!group.empty() && IsBuiltInGroup(group)) {
    faults.push_back(
        InvalidFault("spec.group", group, "is served by the API itself; choose another group"));
  }
  if (plural.empty()) faults.push_back(RequiredFault("spec.names.plural"));
  if (spec["names"]["kind"].AsString().empty()) faults.push_back(RequiredFault("spec.names.kind"));
  if (scope != "Cluster" && scope != "Namespaced") {
    faults.push_back(NotSupportedFault("spec.scope", scope, {"Cluster", "Namespaced"}));
  }
  if (definition["metadata"]["name"].AsString() != plural + "." + group) {
    faults.push_back(InvalidFault("metadata.name", definition["metadata"]["name"],
                                  "must be spec.names.plural+\".\"+spec.group"));
  }
  CheckVersions(spec, faults);
  return faults;
}

std::vector<Kind> KindsOf(const Json& definition) {
  std::vector<Kind> kinds;
  const Json& spec = definition["spec"];
  const Json& names = spec["names"];
  for (const Json& version : spec["versions"].items()) {
    if (!version["served"].AsBool()) continue;
    Kind kind{.resource = {spec["group"].AsString(), version["name"].AsString(),
                           names["plural"].AsString(), names["kind"].AsString(),
                           spec["scope"].AsString() == "Namespaced"},
              .singular = names["singular"].AsString(),
              .list_kind = names["listKind"].AsString(),
              .short_names = Strings(names["shortNames"]),
              .categories = Strings(names["categories"]),
              .subresources = {},
              .selectable_fields = SelectableFields(version),
              .columns = ColumnsOf(version)};
    kind.has_status = version["subresources"].Has("status");
    // As upstream: custom objects count generations, and a PUT of one must name its version.
    kind.counts_generations = kind.custom = kind.needs_version_to_update = true;
    kind.schema = WholeSchema(version);
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace galen::api_sim
