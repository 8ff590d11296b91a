// Tested by tests/e2e, where kubectl explains and validates by it.
#include "api_sim/serving/open_api.h"

#include <fmt/format.h>

#include "api_sim/serving/open_api_v2.h"

namespace galen::api_sim {
namespace {

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
  if (patch && strategic) {
    content["application/strategic-merge-patch+json"] = Json::MakeObject({});
  }
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
    Json schema = kind->schema == nullptr ? Json::MakeObject({{"type", "object"}}) : *kind->schema;
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
