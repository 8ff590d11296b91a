// OpenAPI v2 and v3 documents of the kinds served, as far as kubectl explain, apply and its field
// validation read them. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "api_sim/serving/discovery.h"

namespace galen::api_sim {

// The document at `path`: "/openapi/v3", the index with a URL for each group and version; those
// below it; and "/openapi/v2". nullopt for anything else. Made anew at each call.
std::optional<Document> OpenApi(const std::string& path, const KindTable& kinds);

}  // namespace galen::api_sim
