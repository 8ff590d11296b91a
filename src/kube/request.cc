#include "kube/request.h"

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace galen::kube {
namespace {

constexpr std::string_view kJson = "application/json";

// RFC 3986: everything but the unreserved characters.
// More than a query needs, but never wrong: selectors hold "=", ",", "(" and spaces.
std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kKept =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kKept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// The part after "?"; parameters without a value are left out.
class Query {
 public:
  void Add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += text_.empty() ? '?' : '&';
    text_ += fmt::format("{}={}", name, PercentEncode(value));
  }
  void AddSelectors(const Selectors& selectors) {
    Add("fieldSelector", selectors.field);
    Add("labelSelector", selectors.label);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// "/api/v1/namespaces/a/pods". The core group has its own root for historical reasons.
std::string CollectionPath(const Resource& resource, std::string_view ns) {
  std::string path = resource.group.empty() ? "/api/" : fmt::format("/apis/{}/", resource.group);
  path += resource.version;
  if (resource.namespaced && !ns.empty()) path += fmt::format("/namespaces/{}", PercentEncode(ns));
  return path + "/" + resource.plural;
}

// "/api/v1/namespaces/a/pods/p/status"
std::string ObjectPath(const Resource& resource, std::string_view ns, std::string_view name,
                       std::string_view subresource = "") {
  std::string path = fmt::format("{}/{}", CollectionPath(resource, ns), PercentEncode(name));
  return subresource.empty() ? path : fmt::format("{}/{}", path, subresource);
}

net::HttpRequest Bare(std::string_view method, std::string path) {
  return {.method = std::string(method),
          .path = std::move(path),
          .headers = {{"accept", std::string(kJson)}},
          .body = {}};
}

net::HttpRequest WithBody(std::string_view method, std::string path, std::string_view content_type,
                          const Json& body) {
  net::HttpRequest request = Bare(method, std::move(path));
  request.headers.push_back({"content-type", std::string(content_type)});
  request.body = body.Dump();
  return request;
}

}  // namespace

std::string_view ContentType(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  GALEN_UNREACHABLE();
}

net::HttpRequest Get(const Resource& resource, std::string_view ns, std::string_view name) {
  return Bare("GET", ObjectPath(resource, ns, name));
}

net::HttpRequest List(const Resource& resource, std::string_view ns, const ListOptions& options) {
  Query query;
  query.AddSelectors(options.selectors);
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  query.Add("continue", options.resume);
  // The token holds the version of its list; a server refuses both together.
  if (options.resume.empty()) query.Add("resourceVersion", options.resource_version);
  return Bare("GET", CollectionPath(resource, ns) + query.text());
}

net::HttpRequest Watch(const Resource& resource, std::string_view ns, const WatchOptions& options) {
  // Whole seconds; the server adds no jitter to a timeout that was asked for.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.timeout).count();
  Query query;
  query.Add("watch", "true");
  query.AddSelectors(options.selectors);
  query.Add("resourceVersion", options.resource_version);
  if (options.bookmarks) query.Add("allowWatchBookmarks", "true");
  if (seconds > 0) query.Add("timeoutSeconds", std::to_string(seconds));
  return Bare("GET", CollectionPath(resource, ns) + query.text());
}

net::HttpRequest Create(const Resource& resource, std::string_view ns, const Json& object) {
  return WithBody("POST", CollectionPath(resource, ns), kJson, object);
}

net::HttpRequest Update(const Resource& resource, const Json& object,
                        std::string_view subresource) {
  const Json& meta = object["metadata"];
  const std::string path =
      ObjectPath(resource, meta["namespace"].AsString(), meta["name"].AsString(), subresource);
  return WithBody("PUT", path, kJson, object);
}

net::HttpRequest Patch(const Resource& resource, std::string_view ns, std::string_view name,
                       PatchType type, const Json& patch, const PatchOptions& options) {
  Query query;
  query.Add("fieldManager", options.field_manager);
  if (type == PatchType::kApply && options.force) query.Add("force", "true");
  // JSON is YAML, so an apply patch needs no writer of its own.
  return WithBody("PATCH", ObjectPath(resource, ns, name, options.subresource) + query.text(),
                  ContentType(type), patch);
}

net::HttpRequest Delete(const Resource& resource, std::string_view ns, std::string_view name,
                        const DeleteOptions& options) {
  Json preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resource_version.empty())
    preconditions["resourceVersion"] = options.resource_version;
  std::string path = ObjectPath(resource, ns, name);
  // A body is only needed to say more than "delete".
  if (!options.grace_seconds && preconditions.is_null()) return Bare("DELETE", std::move(path));
  Json body = Json::MakeObject({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  if (!preconditions.is_null()) body["preconditions"] = std::move(preconditions);
  return WithBody("DELETE", std::move(path), kJson, body);
}

net::HttpRequest DeleteCollection(const Resource& resource, std::string_view ns,
                                  const Selectors& selectors) {
  Query query;
  query.AddSelectors(selectors);
  return Bare("DELETE", CollectionPath(resource, ns) + query.text());
}

}  // namespace galen::kube
