// What a request asks for, read from its method, path and query. Values; free of threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api_sim/objects/refusal.h"
#include "net/http.h"

namespace galen::api_sim {

// A request split into its parts. Members that do not apply are empty; reading it never fails.
struct ApiRequest {
  // Upper case, as sent: "GET", "POST", "PUT", "PATCH", "DELETE".
  std::string method;
  std::string path;  // without the query
  // Decoded. A parameter that is named twice has its last value.
  std::map<std::string, std::string, std::less<>> query;
  std::string body;
  std::string content_type;  // of the body, without parameters
  std::string accept;
  std::string user_agent;

  // Set when the path is below /api or /apis and names a resource. The members below mean something
  // only then: `group` is "" for the core group, `ns` is "" for cluster-scoped kinds and for lists
  // over all namespaces, `name` and `subresource` are "" when the path ends before them.
  bool is_resource = false;
  std::string group;
  std::string version;
  std::string ns;
  std::string plural;
  std::string name;
  std::string subresource;

  // A query parameter, "" when absent.
  const std::string& Param(std::string_view name) const;
  bool Flag(std::string_view name) const;  // "true" or "1"
  bool dry_run() const { return Param("dryRun") == "All"; }
  // "kubectl-edit" from ?fieldManager=, or the user agent up to a slash or space.
  std::string manager() const;
};

// Accepts any path; one that fits no pattern is not a resource.
ApiRequest ReadApiRequest(const net::HttpRequest& request);

}  // namespace galen::api_sim
