// The older OpenAPI v2 document in its protobuf form (gnostic's openapi.v2.Document), without which
// kubectl up to 1.28 neither validates nor explains. Pure functions.
#pragma once

#include <string>

#include "api_sim/objects/kinds.h"

namespace galen::api_sim {

// Not quite what clients ask for: theirs has an "@", which is no legal media type.
inline constexpr const char* kOpenApiV2Type =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// The serialized document of all kinds.
std::string OpenApiV2(const KindTable& kinds);

// How documents name a kind: {"group": …, "version": …, "kind": …}.
Json KindName(const kube::Resource& resource);

// How documents name a kind's schema: "io.k8s.resource.v1.ResourceClaim".
std::string SchemaName(const kube::Resource& resource);

}  // namespace galen::api_sim
