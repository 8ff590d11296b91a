// The API's self-description: groups, versions, resources, schemas. Pure functions over the kind
// table, so a new CustomResourceDefinition shows at once; kubectl reads these before anything else.
#pragma once

#include <optional>
#include <string>

#include "api_sim/objects/api_request.h"
#include "api_sim/objects/kinds.h"

namespace galen::api_sim {

// An answer as it is sent: its bytes and their Content-Type.
struct Document {
  Document(const Json& value, std::string type = "application/json")  // NOLINT
      : body(value.Dump()), content_type(std::move(type)) {}
  Document(std::string text, std::string type)
      : body(std::move(text)), content_type(std::move(type)) {}

  std::string body;
  std::string content_type;
};

// The document at request.path; nullopt: no such path. Known are /api, /apis, /api/v1, /apis/GROUP,
// /apis/GROUP/VERSION, /version and /openapi/…, each with or without slashes at the end. /api and
// /apis answer in the aggregated form when Accept asks for it. REQUIRES: `git_version` reads
// "vMAJOR.MINOR.…".
std::optional<Document> Discover(const ApiRequest& request, const KindTable& kinds,
                                 const std::string& git_version);

// The group's versions, newest first: v1 before v1beta1 before v1alpha1. Empty: no such group.
std::vector<std::string> VersionsOf(const KindTable& kinds, const std::string& group);

// OpenAPI v2 and v3 of the kinds, as far as kubectl explain, apply and its field validation read
// them (open_api.cc). The document at `path`: "/openapi/v3", the index with a URL for each group
// and version; those below it; and "/openapi/v2". nullopt for anything else. Made anew at each
// call.
std::optional<Document> OpenApi(const std::string& path, const KindTable& kinds);

}  // namespace galen::api_sim
