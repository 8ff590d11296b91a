#include "kube/objects/meta.h"

namespace galen::kube {

std::optional<WallTime> DecodeTime(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const StatusOr<WallTime> time = ParseRfc3339(value.AsString());
  return time.ok() ? std::optional(*time) : std::nullopt;
}

StatusOr<Meta> DecodeMeta(const Json& object) {
  const Json& meta = object["metadata"];
  if (!meta.is_object()) return InvalidArgument("metadata is missing");
  if (meta["name"].AsString().empty()) return InvalidArgument("metadata.name is missing");
  if (meta["uid"].AsString().empty()) return InvalidArgument("metadata.uid is missing");
  Meta out;
  out.key = {meta["namespace"].AsString(), meta["name"].AsString()};
  out.uid = meta["uid"].AsString();
  out.created = DecodeTime(meta["creationTimestamp"]);
  out.deleted = DecodeTime(meta["deletionTimestamp"]);
  for (const Json& owner : meta["ownerReferences"].items()) {
    out.owners.push_back({.api_version = owner["apiVersion"].AsString(),
                          .kind = owner["kind"].AsString(),
                          .name = owner["name"].AsString(),
                          .uid = owner["uid"].AsString(),
                          .controller = owner["controller"].AsBool()});
  }
  return out;
}

Json EncodeOwners(const std::vector<OwnerReference>& owners) {
  Json out = Json::Array{};
  for (const OwnerReference& owner : owners) {
    Json reference = Json::MakeObject({{"apiVersion", owner.api_version},
                                       {"kind", owner.kind},
                                       {"name", owner.name},
                                       {"uid", owner.uid}});
    if (owner.controller) reference["controller"] = true;
    out.Append(std::move(reference));
  }
  return out;
}

}  // namespace galen::kube
