// Tested by tests/contract/table_test.cc and tests/e2e, where a real kubectl reads it.
#include "api_sim/serving/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

namespace galen::api_sim {
namespace {

Json ToArray(const std::vector<std::string>& strings) {
  Json array = Json(Json::Array());
  for (const std::string& text : strings) array.Append(text);
  return array;
}

// Every kind takes every verb here.
const std::vector<std::string> kVerbs{"create", "delete", "deletecollection", "get",
                                      "list",   "patch",  "update",           "watch"};
const std::vector<std::string> kStatusVerbs{"get", "patch", "update"};

std::vector<KindRef> KindsOfVersion(const KindTable& kinds, const std::string& group,
                                    const std::string& version) {
  std::vector<KindRef> found;
  for (const KindRef& kind : kinds.all()) {
    if (kind->resource.group == group && kind->resource.version == version) found.push_back(kind);
  }
  return found;
}

// One thing served below a resource: its name, the kind of its body and what can be done.
struct Section {
  std::string name;
  kube::Resource body;
  std::vector<std::string> verbs;
};

std::vector<Section> PartsOf(const Kind& kind) {
  std::vector<Section> parts;
  if (kind.has_status) parts.push_back({"status", kind.resource, kStatusVerbs});
  for (const std::string& name : kind.subresources) {
    if (name == "ephemeralcontainers") {
      parts.push_back({name, kind.resource, kStatusVerbs});
      continue;
    }
    // The body posted there is of another kind than the resource, maybe of another group.
    const kube::Resource body = name == "eviction" ? kube::Resource{"policy", "v1", "", "Eviction"}
                                                   : kube::Resource{"", "v1", "", "Binding"};
    parts.push_back({name, body, {"create"}});
  }
  return parts;
}

// As /api/v1 and /apis/GROUP/VERSION have it.
Json ResourceList(const std::vector<KindRef>& kinds, const std::string& group_version) {
  Json resources = Json(Json::Array());
  for (const KindRef& kind : kinds) {
    Json entry = Json::MakeObject({{"name", kind->resource.plural},
                                   {"singularName", kind->singular},
                                   {"namespaced", kind->resource.namespaced},
                                   {"kind", kind->resource.kind},
                                   {"verbs", ToArray(kVerbs)}});
    if (!kind->short_names.empty()) entry["shortNames"] = ToArray(kind->short_names);
    if (!kind->categories.empty()) entry["categories"] = ToArray(kind->categories);
    resources.Append(std::move(entry));
    for (const Section& part : PartsOf(*kind)) {
      Json inner = Json::MakeObject({{"name", kind->resource.plural + "/" + part.name},
                                     {"singularName", ""},
                                     {"namespaced", kind->resource.namespaced},
                                     {"kind", part.body.kind},
                                     {"verbs", ToArray(part.verbs)}});
      // Given only where they differ from those of the list.
      if (part.body.kind != kind->resource.kind && !part.body.group.empty()) {
        inner["group"] = part.body.group;
        inner["version"] = part.body.version;
      }
      resources.Append(std::move(inner));
    }
  }
  return Json::MakeObject({{"kind", "APIResourceList"},
                           {"apiVersion", "v1"},
                           {"groupVersion", group_version},
                           {"resources", std::move(resources)}});
}

Json GroupVersion(const std::string& group, const std::string& version) {
  return Json::MakeObject({{"groupVersion", group + "/" + version}, {"version", version}});
}

Json GroupEntry(const KindTable& kinds, const std::string& group) {
  Json versions = Json(Json::Array());
  for (const std::string& version : VersionsOf(kinds, group)) {
    versions.Append(GroupVersion(group, version));
  }
  // Groups in the table have at least one version.
  Json preferred = std::as_const(versions)[0];
  return Json::MakeObject({{"name", group},
                           {"versions", std::move(versions)},
                           {"preferredVersion", std::move(preferred)}});
}

std::set<std::string> Groups(const KindTable& kinds) {
  std::set<std::string> groups;
  for (const KindRef& kind : kinds.all()) groups.insert(kind->resource.group);
  return groups;
}

Json ResponseKind(const kube::Resource& resource) {
  return Json::MakeObject(
      {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
}

// As apidiscovery.k8s.io has it: everything in one answer.
Json AggregatedResource(const Kind& kind) {
  Json entry = Json::MakeObject({{"resource", kind.resource.plural},
                                 {"responseKind", ResponseKind(kind.resource)},
                                 {"scope", kind.resource.namespaced ? "Namespaced" : "Cluster"},
                                 {"singularResource", kind.singular},
                                 {"verbs", ToArray(kVerbs)}});
  if (!kind.short_names.empty()) entry["shortNames"] = ToArray(kind.short_names);
  if (!kind.categories.empty()) entry["categories"] = ToArray(kind.categories);
  for (const Section& part : PartsOf(kind)) {
    entry["subresources"].Append(Json::MakeObject({{"subresource", part.name},
                                                   {"responseKind", ResponseKind(part.body)},
                                                   {"verbs", ToArray(part.verbs)}}));
  }
  return entry;
}

// The core group is served at /api, all others at /apis, each by its own answer.
Document Aggregated(const KindTable& kinds, bool core, const std::string& version) {
  Json items = Json(Json::Array());
  for (const std::string& group : Groups(kinds)) {
    // Each of the two paths lists only its own groups.
    if (group.empty() != core) continue;
    Json versions = Json(Json::Array());
    for (const std::string& of_group : VersionsOf(kinds, group)) {
      Json resources = Json(Json::Array());
      for (const KindRef& kind : KindsOfVersion(kinds, group, of_group)) {
        resources.Append(AggregatedResource(*kind));
      }
      versions.Append(Json::MakeObject(
          {{"version", of_group}, {"freshness", "Current"}, {"resources", std::move(resources)}}));
    }
    Json meta = Json::MakeObject({{"creationTimestamp", nullptr}});
    if (!group.empty()) meta["name"] = group;
    items.Append(
        Json::MakeObject({{"metadata", std::move(meta)}, {"versions", std::move(versions)}}));
  }
  return {
      Json::MakeObject({{"kind", "APIGroupDiscoveryList"},
                        {"apiVersion", "apidiscovery.k8s.io/" + version},
                        {"metadata", Json::Object{}},
                        {"items", std::move(items)}}),
      fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version)};
}

// "v2" or "v2beta1" when the client would rather have everything at once, else "". Clients since
// 1.26 list both before plain JSON; the first one named is taken.
std::string AggregatedVersion(const std::string& accept) {
  const std::size_t at = accept.find("apidiscovery.k8s.io;v=");
  if (at == std::string::npos) return "";
  const std::size_t from = at + std::string_view("apidiscovery.k8s.io;v=").size();
  const std::string version = accept.substr(from, accept.find_first_of(";,", from) - from);
  return version == "v2" || version == "v2beta1" ? version : "";
}

Document Api(const ApiRequest& request, const KindTable& kinds) {
  const std::string aggregated = AggregatedVersion(request.accept);
  if (!aggregated.empty()) return Aggregated(kinds, true, aggregated);
  return {Json::MakeObject({{"kind", "APIVersions"},
                            {"versions", Json::MakeArray({"v1"})},
                            {"serverAddressByClientCIDRs", Json::Array()}})};
}

Document Apis(const ApiRequest& request, const KindTable& kinds) {
  const std::string aggregated = AggregatedVersion(request.accept);
  if (!aggregated.empty()) return Aggregated(kinds, false, aggregated);
  Json groups = Json(Json::Array());
  for (const std::string& group : Groups(kinds)) {
    if (!group.empty()) groups.Append(GroupEntry(kinds, group));
  }
  return {Json::MakeObject(
      {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}})};
}

// "v1.37.0+galen" gives major "1" and minor "37". Clients only print the rest.
Document Version(const std::string& git_version) {
  const std::size_t dot = git_version.find('.');
  const std::size_t end = git_version.find('.', dot + 1);
  return {Json::MakeObject({{"major", git_version.substr(1, dot - 1)},
                            {"minor", git_version.substr(dot + 1, end - dot - 1)},
                            {"gitVersion", git_version},
                            {"gitCommit", ""},
                            {"gitTreeState", "clean"},
                            {"buildDate", "2026-01-01T00:00:00Z"},
                            {"goVersion", "none"},
                            {"compiler", "gcc"},
                            {"platform", "linux/amd64"}})};
}

// Stable before beta before alpha, and of these the higher number first.
std::tuple<int, int, int> Rank(const std::string& version) {
  int major = 0;
  int minor = 0;
  // "%7[a-z]" leaves room for the final zero; anything longer is no known stage.
  char stage[8] = {};
  const int read = std::sscanf(version.c_str(), "v%d%7[a-z]%d", &major, stage, &minor);
  const std::string_view stage_name = stage;
  const int grade = read == 1 ? 2 : stage_name == "beta" ? 1 : 0;
  return {-grade, -major, -minor};
}

}  // namespace

std::vector<std::string> VersionsOf(const KindTable& kinds, const std::string& group) {
  std::set<std::string> found;
  for (const KindRef& kind : kinds.all()) {
    if (kind->resource.group == group) found.insert(kind->resource.version);
  }
  std::vector<std::string> versions(found.begin(), found.end());
  std::sort(versions.begin(), versions.end(),
            [](const auto& a, const auto& b) { return Rank(a) < Rank(b); });
  return versions;
}

std::optional<Document> Discover(const ApiRequest& request, const KindTable& kinds,
                                 const std::string& git_version) {
  std::string path = request.path;
  // As upstream's router, which takes "/apis/" for "/apis".
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path == "/version") return Version(git_version);
  if (path == "/api") return Api(request, kinds);
  if (path == "/apis") return Apis(request, kinds);
  // Schemas are documents of their own, see OpenApi().
  if (path.rfind("/openapi", 0) == 0) return OpenApi(path, kinds);
  if (path == "/api/v1") return Document{ResourceList(KindsOfVersion(kinds, "", "v1"), "v1")};
  constexpr std::string_view kApis = "/apis/";
  if (path.rfind(kApis, 0) != 0) return std::nullopt;
  const std::string rest = path.substr(kApis.size());
  const std::size_t slash = rest.find('/');
  const std::string group = rest.substr(0, slash);
  if (slash == std::string::npos) {
    if (VersionsOf(kinds, group).empty()) return std::nullopt;
    Json entry = GroupEntry(kinds, group);
    entry["kind"] = "APIGroup";
    entry["apiVersion"] = "v1";
    return Document{entry};
  }
  const std::string version = rest.substr(slash + 1);
  if (!kinds.HasVersion(group, version)) return std::nullopt;
  return Document{ResourceList(KindsOfVersion(kinds, group, version), rest)};
}

}  // namespace galen::api_sim
