#include "kube/objects/resource_claim.h"

#include "kube/objects/meta.h"

namespace galen::kube {
namespace {

// The API group of PodGroups (KEP-5729).
constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";

}  // namespace

StatusOr<Claim> DecodeClaim(const Json& object) {
  ASSIGN_OR_RETURN(const Meta meta, DecodeMeta(object));
  Claim claim;
  claim.key = meta.key;
  claim.uid = meta.uid;
  const Json& status = object["status"];
  claim.allocated_at = status["allocation"]["allocationTimestamp"].AsString();
  const auto& results = status["allocation"]["devices"]["results"].items();
  claim.devices.reserve(results.size());
  for (const Json& result : results) {
    claim.devices.push_back({.request = result["request"].AsString(),
                             .device = {.driver = result["driver"].AsString(),
                                        .pool = result["pool"].AsString(),
                                        .device = result["device"].AsString()},
                             .share_id = result["shareID"].AsString(),
                             .admin_access = result["adminAccess"].AsBool()});
  }
  for (const Json& consumer : status["reservedFor"].items()) {
    const std::string& group = consumer["apiGroup"].AsString();
    const std::string& resource = consumer["resource"].AsString();
    // Any other consumer keeps Pods from the claim, as kubelets have it.
    if (resource == "podgroups" && group == kSchedulingGroup) {
      claim.reserved_for_groups.push_back(consumer["name"].AsString());
    }
    if (resource != "pods" || !group.empty()) continue;
    claim.reserved_for.push_back(
        {.key = {meta.key.ns, consumer["name"].AsString()}, .uid = consumer["uid"].AsString()});
  }
  return claim;
}

}  // namespace galen::kube
