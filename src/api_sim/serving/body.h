// A request's body as JSON: from JSON, YAML, or the protobuf messages that newer kubectls use for a
// few objects of their own. Pure functions.
#pragma once

#include "api_sim/objects/api_request.h"

namespace galen::api_sim {

// The body by its Content-Type; none, "*/*" and everything with "json" in it (patches too) is JSON,
// everything with "yaml" is YAML. 400 when it cannot be read; 415 for an unknown format, or a kind
// that is not known in protobuf, as a real server answers for custom resources: a client that can
// send JSON then does.
Outcome<Json> ReadBody(const ApiRequest& request);

// Kubernetes' envelope around a protobuf message: four bytes "k8s\0", then runtime.Unknown with the
// type and the message.
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
// Only for the kinds that kubectl sends in protobuf: ConfigMap, Secret, Namespace, ServiceAccount,
// DeleteOptions, Eviction and the self-subject reviews. Unimplemented for others, InvalidArgument
// for broken bytes. Fields that the table does not know are skipped, as protobuf requires.
StatusOr<Json> DecodeKubernetesProtobuf(std::string_view bytes);

}  // namespace galen::api_sim
