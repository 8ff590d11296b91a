// Requests to the Kubernetes API as values, made by pure functions. Nothing is sent here (client.h
// does), nothing is checked: the server does that. Paths start at "/api" or "/apis"; the transport
// puts the server's prefix before them, and credentials. Source of the rules:
// https://kubernetes.io/docs/reference/using-api/api-concepts/
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "base/time.h"
#include "kube/resource.h"
#include "net/http.h"

namespace galen::kube {

// Which objects of a kind; "" = all. The server knows only some fields of each kind.
struct Selectors {
  std::string field = {};  // "spec.nodeName=node-7"
  std::string label = {};  // "app=train,tier in (a,b)"
};

// A page of a list.
struct ListOptions {
  Selectors selectors = {};
  int limit = 500;          // objects a page; 0 = all at once
  std::string resume = {};  // the `continue` token of the page before
  // "" = the newest, from etcd; "0" = whatever the server has in its cache. Left out with `resume`.
  std::string resource_version = {};
};

// Changes from a point on.
struct WatchOptions {
  Selectors selectors = {};
  // The version of the list or event before; "" begins with the present objects as ADDED events.
  std::string resource_version = {};
  Duration timeout = std::chrono::seconds(290);  // the server ends the watch by itself after this
  // Events without a change, which keep the version fresh on a quiet kind.
  bool bookmarks = true;
};

// RFC 6902, RFC 7386, Kubernetes' strategic merge (built-in kinds only), server-side apply.
enum class PatchType { kJson, kMerge, kStrategic, kApply };
std::string_view ContentType(PatchType type);

// The options of a patch beside its body.
struct PatchOptions {
  std::string subresource = {};    // "status", or ""
  std::string field_manager = {};  // wanted for kApply
  bool force = false;              // kApply: take fields over from others
};

// An absent member leaves it to the server.
struct DeleteOptions {
  // 0 = at once; nullopt = the kind's or the Pod's own.
  std::optional<std::int64_t> grace_seconds = {};
  std::string uid = {};               // precondition: only this object, not one of the same name
  std::string resource_version = {};  // precondition
};

// `ns` is "" for cluster-scoped kinds, and for all namespaces when listing.
net::HttpRequest Get(const Resource& resource, std::string_view ns, std::string_view name);
// `options.limit` objects at most; the answer's ListHead says whether there is more.
net::HttpRequest List(const Resource& resource, std::string_view ns, const ListOptions& options);
net::HttpRequest Watch(const Resource& resource, std::string_view ns, const WatchOptions& options);
// 409 (AlreadyExists) when the name is taken.
net::HttpRequest Create(const Resource& resource, std::string_view ns, const Json& object);
// Replaces the whole object (or its `subresource`). Carries the object's resourceVersion: 409
// (Aborted) when another writer was faster. Its namespace and name are read from its metadata.
net::HttpRequest Update(const Resource& resource, const Json& object,
                        std::string_view subresource = "");
// Changes what the patch names, without a version: 409 only where the patch itself holds one, or
// where an apply without `force` meets fields of another manager. kApply makes the object when it
// is not there.
net::HttpRequest Patch(const Resource& resource, std::string_view ns, std::string_view name,
                       PatchType type, const Json& patch, const PatchOptions& options = {});
// Asks for the end; with finalizers or grace the object stays a while (deletionTimestamp). 409 when
// a precondition does not hold, 404 when it is gone already.
net::HttpRequest Delete(const Resource& resource, std::string_view ns, std::string_view name,
                        const DeleteOptions& options = {});
net::HttpRequest DeleteCollection(const Resource& resource, std::string_view ns,
                                  const Selectors& selectors);

}  // namespace galen::kube
