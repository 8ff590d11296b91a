// Requests to the Kubernetes API as values, made by pure functions.
// Source of the rules: https://kubernetes.io/docs/reference/using-api/api-concepts/
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "kube/resource.h"
#include "net/http.h"

namespace galen::kube {

struct Selectors {
  std::string field = {};  // "spec.nodeName=node-7"
  std::string label = {};  // "app=train,tier in (a,b)"
};

struct ListOptions {
  Selectors selectors = {};
  int limit = 500;          // objects a page; 0 = all at once
  std::string resume = {};  // the `continue` token of the page before
  std::string resource_version = {};
};

struct WatchOptions {
  Selectors selectors = {};
  std::string resource_version = {};
  Duration timeout = std::chrono::seconds(290);  // the server ends the watch by itself after this
  bool bookmarks = true;
};

enum class PatchType { kJson, kMerge, kStrategic, kApply };
std::string_view ContentType(PatchType type);

struct PatchOptions {
  std::string subresource = {};    // "status", or ""
  std::string field_manager = {};  // wanted for kApply
  bool force = false;              // kApply: take fields over from others
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds = {};
  std::string uid = {};               // precondition: only this object, not one of the same name
  std::string resource_version = {};  // precondition
};

// `ns` is "" for cluster-scoped kinds, and for all namespaces when listing.
net::HttpRequest Get(const Resource& resource, std::string_view ns, std::string_view name);
net::HttpRequest List(const Resource& resource, std::string_view ns, const ListOptions& options);
net::HttpRequest Watch(const Resource& resource, std::string_view ns, const WatchOptions& options);
net::HttpRequest Create(const Resource& resource, std::string_view ns, const Json& object);
// Carries the object's resourceVersion: 409 (Aborted) when somebody was faster.
net::HttpRequest Update(const Resource& resource, const Json& object,
                        std::string_view subresource = "");
net::HttpRequest Patch(const Resource& resource, std::string_view ns, std::string_view name,
                       PatchType type, const Json& patch, const PatchOptions& options = {});
net::HttpRequest Delete(const Resource& resource, std::string_view ns, std::string_view name,
                        const DeleteOptions& options = {});
net::HttpRequest DeleteCollection(const Resource& resource, std::string_view ns,
                                  const Selectors& selectors);

}  // namespace galen::kube
