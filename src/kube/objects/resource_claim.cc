#include "kube/objects/resource_claim.h"

#include "kube/objects/meta.h"

namespace galen::kube {

StatusOr<Claim> DecodeClaim(const Json& object) {
  ASSIGN_OR_RETURN(const Meta meta, DecodeMeta(object));
  Claim claim;
  claim.key = meta.key;
  claim.uid = meta.uid;
  const Json& status = object["status"];
  for (const Json& result : status["allocation"]["devices"]["results"].items()) {
    claim.devices.push_back({.request = result["request"].AsString(),
                             .device = {.driver = result["driver"].AsString(),
                                        .pool = result["pool"].AsString(),
                                        .device = result["device"].AsString()},
                             .share_id = result["shareID"].AsString(),
                             .admin_access = result["adminAccess"].AsBool()});
  }
  for (const Json& consumer : status["reservedFor"].items()) {
    const bool pod =
        consumer["resource"].AsString() == "pods" && consumer["apiGroup"].AsString().empty();
    if (!pod) {
      claim.reserved_for_group = true;
      continue;
    }
    claim.reserved_for.push_back(
        {.key = {meta.key.ns, consumer["name"].AsString()}, .uid = consumer["uid"].AsString()});
  }
  return claim;
}

}  // namespace galen::kube
