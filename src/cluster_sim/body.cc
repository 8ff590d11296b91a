#include "cluster_sim/body.h"

#include <fmt/format.h>

#include "base/yaml.h"

namespace galen::cluster_sim {

Outcome<Json> ReadBody(const ApiRequest& request) {
  const std::string& type = request.content_type;
  const bool yaml = type.find("yaml") != std::string::npos;
  const bool protobuf = type == kProtobufType;
  const bool json = type.empty() || type == "*/*" || type.find("json") != std::string::npos;
  if (!yaml && !protobuf && !json) {
    return PlainRefusal(415, "UnsupportedMediaType",
                        fmt::format("the body of the request was in an unknown format ({}) - "
                                    "accepted media types include: application/json, "
                                    "application/yaml, application/vnd.kubernetes.protobuf",
                                    type));
  }
  StatusOr<Json> body = protobuf ? DecodeKubernetesProtobuf(request.body)
                        : yaml   ? ParseYaml(request.body)
                                 : Json::Parse(request.body);
  if (!body.ok()) return BadRequest("cannot decode the body: " + body.status().message());
  return *std::move(body);
}

}  // namespace galen::cluster_sim
