// What the API says about itself: groups, versions, resources, schemas. Pure functions over the
// kind table; kubectl reads these before anything else.
#pragma once

#include <optional>
#include <string>

#include "cluster_sim/api_request.h"
#include "cluster_sim/kinds.h"

namespace galen::cluster_sim {

struct Document {
  Document(const Json& value, std::string type = "application/json")  // NOLINT
      : body(value.Dump()), content_type(std::move(type)) {}
  Document(std::string text, std::string type)
      : body(std::move(text)), content_type(std::move(type)) {}

  std::string body;
  std::string content_type;
};

// /api, /apis, /api/v1, /apis/GROUP, /apis/GROUP/VERSION, /version, /openapi/…; nullopt: no such
// path.
std::optional<Document> Discover(const ApiRequest& request, const KindTable& kinds,
                                 const std::string& git_version);

// The group's versions, newest first: v1 before v1beta1 before v1alpha1.
std::vector<std::string> VersionsOf(const KindTable& kinds, const std::string& group);

}  // namespace galen::cluster_sim
