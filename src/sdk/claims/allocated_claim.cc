#include "kube/objects/resource_claim.h"
#include "sdk/claims/claim_preparer.h"

namespace galen::sdk {
namespace {

// In the order of the allocation: configs of the class come before those of the claim, and a later
// one overrides.
void ReadConfigs(const Json& object, std::string_view driver, DeviceClaim& claim) {
  for (const Json& config : object["status"]["allocation"]["devices"]["config"].items()) {
    const Json& opaque = config["opaque"];
    if (opaque["driver"].AsString() != driver) continue;
    DeviceClaim::Config read{.parameters = opaque["parameters"].Dump(),
                             .requests = {},
                             .from_class = config["source"].AsString() == "FromClass"};
    for (const Json& request : config["requests"].items()) {
      read.requests.push_back(request.AsString());
    }
    claim.configs.push_back(std::move(read));
  }
}

}  // namespace

StatusOr<DeviceClaim> ReadAllocation(const Json& object, const ClaimRef& claim,
                                     std::string_view driver, std::string_view pool) {
  ASSIGN_OR_RETURN(const Claim decoded, kube::DecodeClaim(object));
  // The claim was deleted and made again meanwhile: the one asked for is gone.
  if (decoded.uid != claim.uid) {
    return FailedPrecondition("claim {}/{} was replaced: it has UID {}, {} was asked for", claim.ns,
                              claim.name, decoded.uid, claim.uid);
  }
  if (decoded.devices.empty()) {
    return FailedPrecondition("claim {}/{} is not allocated", claim.ns, claim.name);
  }
  DeviceClaim ours{
      .ns = claim.ns, .name = claim.name, .uid = claim.uid, .devices = {}, .configs = {}};
  for (const AllocatedDevice& allocated : decoded.devices) {
    if (allocated.device.driver != driver) continue;
    if (allocated.device.pool != pool) {
      return FailedPrecondition("claim {}/{} holds device {} of pool {}, this node publishes {}",
                                claim.ns, claim.name, allocated.device.device,
                                allocated.device.pool, pool);
    }
    ours.devices.push_back({.device = allocated.device.device,
                            // The kubelet matches request names without the sub-request of a
                            // prioritized list.
                            .request = std::string(BaseRequest(allocated.request)),
                            .share_id = allocated.share_id,
                            .admin_access = allocated.admin_access});
  }
  ReadConfigs(object, driver, ours);
  return ours;
}

std::string AllocationTime(const Json& object) {
  return object["status"]["allocation"]["allocationTimestamp"].AsString();
}

}  // namespace galen::sdk
