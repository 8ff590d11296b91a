// Tested by tests/e2e/kubectl_test.cc: kubectl explains and validates by it, before 1.29 by v2.
#include <fmt/format.h>

#include "api_sim/serving/discovery.h"

namespace galen::api_sim {
namespace {

// Clients ask for a slightly different type: theirs has an "@", which is not legal in a media type.
constexpr const char* kOpenApiV2Type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// A kind's name in documents: {"group": …, "version": …, "kind": …}.
Json KindName(const kube::Resource& resource) {
  return Json::MakeObject(
      {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
}

// The name of a kind's schema in documents: "io.k8s.resource.v1.ResourceClaim".
std::string SchemaName(const kube::Resource& resource) {
  std::string group = resource.group.empty() ? "core.api.k8s.io" : resource.group;
  std::string reversed;
  // "resource.k8s.io" is written backwards: "io.k8s.resource".
  while (!group.empty()) {
    const std::size_t dot = group.rfind('.');
    reversed += (dot == std::string::npos ? group : group.substr(dot + 1)) + ".";
    group = dot == std::string::npos ? "" : group.substr(0, dot);
  }
  return reversed + resource.version + "." + resource.kind;
}

// A protobuf message being written; field numbers are those of gnostic's OpenAPIv2.proto. Enough of
// the format for text and messages inside, which is all that kubectl reads.
class Message {
 public:
  Message& Text(std::uint32_t field, std::string_view bytes) {
    // Wire type 2: bytes with their length before them.
    Varint(field << 3 | 2);
    Varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& Inner(std::uint32_t field, const Message& message) {
    return Text(field, message.bytes_);
  }
  std::string bytes() const { return bytes_; }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// A vendor extension's value is YAML, and JSON is YAML.
Message Extension(std::string_view name, const Json& value) {
  return Message().Text(1, name).Inner(2, Message().Text(2, value.Dump()));
}

// How kubectl merges a list when it makes a patch itself.
void AddPatchStrategy(const Json& schema, Message& out) {
  const std::string& type = schema["x-kubernetes-list-type"].AsString();
  if (type != "map" && type != "set") return;
  out.Inner(31, Extension("x-kubernetes-patch-strategy", "merge"));
  if (type == "set") return;
  // The old notation has room for one key; the first one is the most specific.
  out.Inner(31, Extension("x-kubernetes-patch-merge-key", schema["x-kubernetes-list-map-keys"][0]));
}

Message SchemaMessage(const Json& schema) {
  Message out;
  if (const std::string& text = schema["description"].AsString(); !text.empty()) out.Text(4, text);
  for (const Json& name : schema["required"].items()) out.Text(19, name.AsString());
  if (schema["additionalProperties"].is_object()) {
    out.Inner(21, Message().Inner(1, SchemaMessage(schema["additionalProperties"])));
  }
  if (const std::string& type = schema["type"].AsString(); !type.empty()) {
    out.Inner(22, Message().Text(1, type));
  }
  if (schema.Has("items")) out.Inner(23, Message().Inner(1, SchemaMessage(schema["items"])));
  if (schema.Has("properties")) {
    Message properties;
    for (const auto& [name, inner] : schema["properties"].members()) {
      properties.Inner(1, Message().Text(1, name).Inner(2, SchemaMessage(inner)));
    }
    out.Inner(25, properties);
  }
  AddPatchStrategy(schema, out);
  return out;
}

// Only what kubectl looks for: whether a PATCH of the kind takes the parameter fieldValidation.
Message PathMessage(const kube::Resource& resource) {
  Message query;
  query.Text(2, "query").Text(4, "fieldValidation").Text(6, "string");
  const Message parameter = Message().Inner(1, Message().Inner(2, Message().Inner(3, query)));
  Message patch;
  patch.Inner(8, parameter).Inner(9, Message());
  patch.Inner(13, Extension("x-kubernetes-group-version-kind", KindName(resource)));
  const std::string place = resource.group.empty()
                                ? "/api/" + resource.version
                                : fmt::format("/apis/{}/{}", resource.group, resource.version);
  return Message()
      .Text(1, fmt::format("{}/{}/{{name}}", place, resource.plural))
      .Inner(2, Message().Inner(8, patch));
}

// The older OpenAPI v2 document in its protobuf form (gnostic's openapi.v2.Document), without which
// kubectl up to 1.28 neither validates nor explains.
std::string OpenApiV2(const KindTable& kinds) {
  Message paths;
  Message definitions;
  for (const KindRef& kind : kinds.all()) {
    paths.Inner(2, PathMessage(kind->resource));
    Message schema = kind->schema.is_null() ? Message() : SchemaMessage(kind->schema);
    schema.Inner(31, Extension("x-kubernetes-group-version-kind",
                               Json::MakeArray({KindName(kind->resource)})));
    definitions.Inner(1, Message().Text(1, SchemaName(kind->resource)).Inner(2, schema));
  }
  return Message()
      .Text(1, "2.0")
      .Inner(2, Message().Text(1, "Kubernetes").Text(2, "unversioned"))
      .Inner(8, paths)
      .Inner(9, definitions)
      .bytes();
}

constexpr std::string_view kRoot = "/openapi/v3";

// "api/v1", "apis/resource.k8s.io/v1".
std::string PlaceOf(const kube::Resource& resource) {
  return resource.group.empty() ? "api/" + resource.version
                                : fmt::format("apis/{}/{}", resource.group, resource.version);
}

// One operation of a path. Saying that the server checks fields itself (the parameter
// fieldValidation) keeps kubectl from asking for the old v2 document.
Json WriteOperation(const kube::Resource& resource, const char* action, bool strategic) {
  Json parameters = Json(Json::Array());
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation"}) {
    parameters.Append(Json::MakeObject(
        {{"name", name}, {"in", "query"}, {"schema", Json::MakeObject({{"type", "string"}})}}));
  }
  Json content = Json::MakeObject({});
  const std::string_view types[] = {"application/json", "application/json-patch+json",
                                    "application/merge-patch+json", "application/apply-patch+yaml"};
  const bool patch = std::string_view(action) == "patch";
  for (const std::string_view type : types) {
    if (patch == (type != "application/json")) content[type] = Json::MakeObject({});
  }
  if (patch && strategic) content["application/strategic-merge-patch+json"] = Json::MakeObject({});
  return Json::MakeObject(
      {{"parameters", std::move(parameters)},
       {"requestBody", Json::MakeObject({{"content", std::move(content)}})},
       {"responses", Json::MakeObject({{"200", Json::MakeObject({{"description", "OK"}})}})},
       {"x-kubernetes-action", action},
       {"x-kubernetes-group-version-kind", KindName(resource)}});
}

void AddPaths(const Kind& kind, Json& paths) {
  const kube::Resource& resource = kind.resource;
  const std::string place =
      fmt::format("/{}/{}{}", PlaceOf(resource),
                  resource.namespaced ? "namespaces/{namespace}/" : "", resource.plural);
  paths[place]["post"] = WriteOperation(resource, "post", false);
  paths[place + "/{name}"]["put"] = WriteOperation(resource, "put", false);
  // kubectl makes strategic patches from its own types, which know the merge keys; a document
  // that offered them here would have to carry those keys for every list.
  paths[place + "/{name}"]["patch"] = WriteOperation(resource, "patch", false);
}

Json DocumentOf(const std::string& place, const KindTable& kinds) {
  Json paths = Json::MakeObject({});
  Json schemas = Json::MakeObject({});
  for (const KindRef& kind : kinds.all()) {
    if (PlaceOf(kind->resource) != place) continue;
    AddPaths(*kind, paths);
    Json schema = kind->schema.is_null() ? Json::MakeObject({{"type", "object"}}) : kind->schema;
    schema["x-kubernetes-group-version-kind"] = Json::MakeArray({KindName(kind->resource)});
    schemas[SchemaName(kind->resource)] = std::move(schema);
  }
  if (paths.members().empty()) return nullptr;
  return Json::MakeObject(
      {{"openapi", "3.0.0"},
       {"info", Json::MakeObject({{"title", "Kubernetes"}, {"version", "unversioned"}})},
       {"paths", std::move(paths)},
       {"components", Json::MakeObject({{"schemas", std::move(schemas)}})}});
}

}  // namespace

std::optional<Document> OpenApi(const std::string& path, const KindTable& kinds) {
  if (path == "/openapi/v2") return Document{OpenApiV2(kinds), kOpenApiV2Type};
  if (path == kRoot) {
    Json places = Json::MakeObject({});
    for (const KindRef& kind : kinds.all()) {
      const std::string place = PlaceOf(kind->resource);
      places[place]["serverRelativeURL"] = fmt::format("{}/{}", kRoot, place);
    }
    return Document{Json::MakeObject({{"paths", std::move(places)}})};
  }
  if (path.rfind(std::string(kRoot) + "/", 0) != 0) return std::nullopt;
  const Json document = DocumentOf(path.substr(kRoot.size() + 1), kinds);
  if (document.is_null()) return std::nullopt;
  return Document{document};
}

}  // namespace galen::api_sim
