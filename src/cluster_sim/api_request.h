// What a request asks for, read from its method, path and query. Values; free of threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster_sim/refusal.h"
#include "net/http.h"

namespace galen::cluster_sim {

struct ApiRequest {
  std::string method;
  std::string path;  // without the query
  std::map<std::string, std::string, std::less<>> query;
  std::string body;
  std::string content_type;  // of the body, without parameters
  std::string accept;
  std::string user_agent;

  // Set when the path is below /api or /apis and names a resource.
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
  // "kubectl-edit" from ?fieldManager=, or the first word of the user agent.
  std::string manager() const;
};

// REQUIRES: nothing; a path that makes no sense is simply no resource.
ApiRequest ReadApiRequest(const net::HttpRequest& request);

// Undoes %41 and, in queries, '+'.
std::string PercentDecode(std::string_view text, bool plus_is_space);

}  // namespace galen::cluster_sim
