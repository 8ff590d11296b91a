// What a client sent, as JSON: from JSON, YAML, or the protobuf messages that newer kubectls use
// for the few objects they make from types of their own. Pure functions.
#pragma once

#include "cluster_sim/api_request.h"

namespace galen::cluster_sim {

// 400 when it cannot be read, 415 when it is in no known format.
Outcome<Json> ReadBody(const ApiRequest& request);

// Kubernetes' envelope around a protobuf message, of the kinds that are known here.
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
StatusOr<Json> DecodeKubernetesProtobuf(std::string_view bytes);

}  // namespace galen::cluster_sim
