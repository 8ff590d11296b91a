#include "conformance/cluster_access.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "kube/request.h"

namespace galen::conformance {
namespace {

constexpr int kPage = 500;
constexpr char kRequest[] = "device";
constexpr char kClassName[] = "galen-conformance";  // need not exist: this claim is not scheduled
constexpr int kNameSuffix = 8;

Json ClaimObject(const std::string& ns, const std::string& name) {
  const Json request = Json::MakeObject(
      {{"name", kRequest}, {"exactly", Json::MakeObject({{"deviceClassName", kClassName}})}});
  return Json::MakeObject(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaim"},
       {"metadata", Json::MakeObject({{"namespace", ns}, {"name", name}})},
       {"spec", Json::MakeObject(
                    {{"devices", Json::MakeObject({{"requests", Json::MakeArray({request})}})}})}});
}

Json AllocationPatch(const std::string& driver, const TestAllocation& allocation) {
  const Json result = Json::MakeObject({{"request", kRequest},
                                        {"driver", driver},
                                        {"pool", allocation.pool},
                                        {"device", allocation.device}});
  const Json devices = Json::MakeObject({{"results", Json::MakeArray({result})}});
  return Json::MakeObject(
      {{"status", Json::MakeObject({{"allocation", Json::MakeObject({{"devices", devices}})}})}});
}

using DeviceKey = std::tuple<std::string, std::string, std::string>;

std::set<DeviceKey> HeldDevices(const std::vector<Json>& claims) {
  std::set<DeviceKey> held;
  for (const Json& claim : claims) {
    for (const Json& result : claim["status"]["allocation"]["devices"]["results"].items()) {
      held.insert(
          {result["driver"].AsString(), result["pool"].AsString(), result["device"].AsString()});
    }
  }
  return held;
}

}  // namespace

ClusterAccess::ClusterAccess(const Edges& edges, std::string driver, std::string ns)
    : edges_(edges), driver_(std::move(driver)), ns_(std::move(ns)) {}

StatusOr<Json> ClusterAccess::Ask(net::HttpRequest request) {
  std::optional<StatusOr<Json>> answer;
  const auto call = edges_.api->Do(std::move(request), [&](StatusOr<Json> json) {
    answer = std::move(json);
    edges_.waiter.Wake();
  });
  edges_.waiter.WaitUntil([&] { return answer.has_value(); }, kLimit);
  if (!answer) return DeadlineExceeded("no answer from the API server");
  return std::move(*answer);
}

StatusOr<std::vector<Json>> ClusterAccess::List(const kube::Resource& resource,
                                                const std::string& field) {
  std::vector<Json> items;
  kube::ListOptions page{.selectors = {.field = field}, .limit = kPage};
  do {
    ASSIGN_OR_RETURN(Json answer, Ask(kube::List(resource, "", page)));
    for (Json& item : answer["items"].MutableItems()) items.push_back(std::move(item));
    page.resume = std::as_const(answer)["metadata"]["continue"].AsString();
  } while (!page.resume.empty());
  return items;
}

StatusOr<std::vector<Json>> ClusterAccess::Slices() {
  return List(kube::kResourceSlices, "spec.driver=" + driver_);
}

StatusOr<ClaimRef> ClusterAccess::MakeClaim(const std::optional<TestAllocation>& allocation) {
  ClaimRef claim{ns_, "galen-conformance-" + edges_.random.NameSuffix(kNameSuffix), ""};
  const StatusOr<Json> made =
      Ask(kube::Create(kube::kResourceClaims, ns_, ClaimObject(ns_, claim.name)));
  if (!made.ok()) return Annotate(made.status(), "create a ResourceClaim in {}", ns_);
  claim.uid = (*made)["metadata"]["uid"].AsString();
  made_.push_back(claim);
  if (!allocation) return claim;
  // Allocates as the scheduler would.
  const StatusOr<Json> allocated =
      Ask(kube::Patch(kube::kResourceClaims, ns_, claim.name, kube::PatchType::kMerge,
                      AllocationPatch(driver_, *allocation), {.subresource = "status"}));
  if (!allocated.ok()) return Annotate(allocated.status(), "allocate {}/{}", ns_, claim.name);
  return claim;
}

Status ClusterAccess::RemoveClaim(const ClaimRef& claim) {
  const StatusOr<Json> removed = Ask(kube::Delete(kube::kResourceClaims, claim.ns, claim.name,
                                                  {.grace_seconds = {}, .uid = claim.uid}));
  if (!removed.ok() && removed.status().code() != Code::kNotFound)
    return Annotate(removed.status(), "delete ResourceClaim {}/{}", claim.ns, claim.name);
  std::erase_if(made_, [&](const ClaimRef& made) { return made.uid == claim.uid; });
  return OkStatus();
}

Status ClusterAccess::PutAway() {
  Status status;
  for (const ClaimRef& claim : std::vector<ClaimRef>(made_)) {
    if (Status removed = RemoveClaim(claim); !removed.ok()) status = removed;
  }
  return status;
}

std::string NodeOf(const std::vector<Json>& slices, const HealthSeen& health) {
  std::set<std::string> pools, all, reported;
  for (const StreamSeen& stream : health.steady) {
    for (const HealthReportSeen& report : stream.reports) {
      for (const DeviceHealthSeen& device : report.devices) pools.insert(device.pool);
    }
  }
  for (const Json& slice : slices) {
    const std::string& node = slice["spec"]["nodeName"].AsString();
    if (node.empty()) continue;
    all.insert(node);
    if (pools.contains(slice["spec"]["pool"]["name"].AsString())) reported.insert(node);
  }
  if (reported.size() == 1) return *reported.begin();
  return all.size() == 1 ? *all.begin() : "";
}

StatusOr<TestAllocation> FindFreeDevice(const std::vector<Json>& slices,
                                        const std::vector<Json>& claims, const std::string& driver,
                                        const std::string& node) {
  const std::set<DeviceKey> held = HeldDevices(claims);
  std::size_t seen = 0;
  for (const Json& slice : slices) {
    if (slice["spec"]["nodeName"].AsString() != node) continue;
    const std::string& pool = slice["spec"]["pool"]["name"].AsString();
    for (const Json& device : slice["spec"]["devices"].items()) {
      ++seen;
      const std::string& name = device["name"].AsString();
      if (!device["taints"].items().empty() || held.contains({driver, pool, name})) continue;
      return TestAllocation{.request = kRequest, .pool = pool, .device = name};
    }
  }
  if (seen == 0) return NotFound("{} publishes no device on node {}", driver, node);
  return NotFound("each of the {} devices on node {} is held by a claim or tainted", seen, node);
}

}  // namespace galen::conformance
