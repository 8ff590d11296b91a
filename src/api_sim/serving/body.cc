#include "api_sim/serving/body.h"

#include <fmt/format.h>

#include "base/data/yaml.h"

namespace galen::api_sim {
namespace {

constexpr std::string_view kTypes = "application/json, application/yaml";

// With a real server's message, followed by what was wrong.
Refusal Unsupported(std::string_view accepted, std::string_view why) {
  return PlainRefusal(415, "UnsupportedMediaType",
                      fmt::format("the body of the request was in an unknown format - accepted "
                                  "media types include: {} ({})",
                                  accepted, why));
}

}  // namespace

Outcome<Json> ReadBody(const ApiRequest& request) {
  const std::string& type = request.content_type;
  const bool yaml = type.find("yaml") != std::string::npos;
  const bool protobuf = type == kProtobufType;
  const bool json = type.empty() || type == "*/*" || type.find("json") != std::string::npos;
  if (!yaml && !protobuf && !json) {
    return Unsupported(fmt::format("{}, application/vnd.kubernetes.protobuf", kTypes), type);
  }
  StatusOr<Json> body = protobuf ? DecodeKubernetesProtobuf(request.body)
                        : yaml   ? ParseYaml(request.body)
                                 : Json::Parse(request.body);
  // Typed clients of client-go send protobuf of built-in kinds unless configured otherwise (0.34
  // and later), and only from CBOR do they fall back by themselves.
  if (body.status().code() == Code::kUnimplemented) {
    return Unsupported(kTypes, body.status().message() +
                                   " here; a Go client sends JSON with ContentType: "
                                   "\"application/json\" in its rest.Config");
  }
  if (!body.ok()) return BadRequest("cannot decode the body: " + body.status().message());
  return *std::move(body);
}

}  // namespace galen::api_sim
