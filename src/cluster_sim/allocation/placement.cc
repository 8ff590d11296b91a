#include "cluster_sim/allocation/placement.h"

#include <algorithm>
#include <optional>

#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/allocation/claim_requests.h"
#include "cluster_sim/allocation/extended_resources.h"
#include "cluster_sim/allocation/node_selector.h"
#include "cluster_sim/allocation/toleration.h"

namespace galen::cluster_sim {
namespace {

// Limit of different reasons in one message; a thousand nodes may have as many, and the message is
// shown in the Pod's status.
constexpr std::size_t kReasonsMax = 4;
// The API's bound of status.reservedFor (ResourceClaimReservedForMaxSize of resource.k8s.io/v1).
constexpr std::size_t kHoldersMax = 256;

// A claim with what it asks for; `requests` is empty when it has an allocation.
struct NeededClaim {
  const Json* claim;
  const Json* allocation;  // null inside: none yet
  ClaimRequests requests;
};

// Whether the Pod may use the claim at all, on any node.
Status CheckUsable(const Json& pod, const api_sim::PodClaimFacts& entry, const Json& claim) {
  const std::string& name = api_sim::KeyOf(claim).name;
  if (api_sim::IsBeingDeleted(claim))
    return ResourceExhausted("resourceclaim {} is being deleted", name);
  const Json* owner = api_sim::OwnerPod(claim);
  // A claim with the generated name that somebody else created does not belong to this Pod
  // (IsForPod of k8s.io/dynamic-resource-allocation).
  if (entry.from_template() &&
      (owner == nullptr || (*owner)["uid"].AsString() != api_sim::UidOf(pod))) {
    return ResourceExhausted("resourceclaim {} was not made for this Pod", name);
  }
  const std::vector<PodRef> holders = api_sim::Holders(claim);
  const bool ours = std::any_of(holders.begin(), holders.end(),
                                [&pod](const PodRef& h) { return h.uid == api_sim::UidOf(pod); });
  if (!ours && holders.size() >= kHoldersMax) {
    return ResourceExhausted("resourceclaim {} is reserved for {} Pods already", name,
                             holders.size());
  }
  return OkStatus();
}

StatusOr<NeededClaim> ReadNeeded(const Json& pod, const api_sim::PodClaimFacts& entry,
                                 const PlacementFacts& facts) {
  if (!entry.object_name) return FailedPrecondition("the claim for {} is not made yet", entry.name);
  const auto claim = facts.claims.find({api_sim::KeyOf(pod).ns, *entry.object_name});
  // The named claim does not exist, or not any more: it may be created.
  if (claim == facts.claims.end()) {
    return ResourceExhausted("resourceclaim \"{}\" not found", *entry.object_name);
  }
  RETURN_IF_ERROR(CheckUsable(pod, entry, claim->second));
  NeededClaim needed{
      .claim = &claim->second, .allocation = &facts.allocation_of(claim->second), .requests = {}};
  if (!needed.allocation->is_null()) return needed;
  StatusOr<ClaimRequests> requests = ReadClaimRequests(claim->second, facts.classes);
  if (!requests.ok()) {
    const Status why = Annotate(requests.status(), "resourceclaim {}", *entry.object_name);
    // A missing class may be created later: that is no fault of the claim.
    if (why.code() == Code::kFailedPrecondition) return ResourceExhausted("{}", why.message());
    return why;
  }
  needed.requests = std::move(requests).value();
  return needed;
}

StatusOr<std::vector<NeededClaim>> ReadAllNeeded(const Json& pod, const PlacementFacts& facts) {
  std::vector<NeededClaim> all;
  for (const api_sim::PodClaimFacts& entry : api_sim::PodClaims(pod)) {
    if (entry.not_needed) continue;
    ASSIGN_OR_RETURN(NeededClaim needed, ReadNeeded(pod, entry, facts));
    all.push_back(std::move(needed));
  }
  return all;
}

bool IsFull(const Json& node, const PlacementFacts& facts) {
  const Json& bound = node["status"]["allocatable"]["pods"];
  if (bound.is_null()) return false;
  // A quantity: an integer, or one as text. Any other notation sets no limit here.
  const StatusOr<Json> parsed = bound.is_string() ? Json::Parse(bound.AsString()) : bound;
  if (!parsed.ok() || !parsed->is_int()) return false;
  return static_cast<std::int64_t>(facts.pods_on(api_sim::KeyOf(node).name)) >= parsed->AsInt();
}

// Why the Pod cannot go to `node` whatever its claims; "" when it can.
std::string Refuses(const Json& node, const Json& pod, const PlacementFacts& facts) {
  const Json& ready = api_sim::FindCondition(node["status"]["conditions"], "Ready");
  if (ready["status"].AsString() != "True") return "not ready";
  // In the order in which people would look for a reason.
  if (node["spec"]["unschedulable"].AsBool()) return "cordoned";
  const std::vector<DeviceTaint> taints = ReadTaints(node["spec"]["taints"]);
  if (const DeviceTaint* taint = Repelling(taints, ReadTolerations(pod["spec"]["tolerations"]))) {
    return "untolerated taint " + taint->key;
  }
  const Json& affinity =
      pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  const bool wanted = HasLabels(pod["spec"]["nodeSelector"], node) &&
                      (affinity.is_null() || MatchesNodeSelector(affinity, node));
  if (!wanted) return "not among the nodes the Pod selects";
  return IsFull(node, facts) ? "full" : "";
}

// The claim that an earlier try created for the Pod's extended resources; nullptr: none.
const Json* FindExtendedClaim(const Json& pod, const PlacementFacts& facts) {
  for (const auto& [key, claim] : facts.claims) {
    if (key.ns != api_sim::KeyOf(pod).ns || !IsExtendedClaimOf(claim, pod)) continue;
    if (!api_sim::IsBeingDeleted(claim)) return &claim;
  }
  return nullptr;
}

// Allocates devices for the Pod's extended resources.
Status PlaceExtended(const Json& pod, const Json& node, const PlacementFacts& facts,
                     NodeAllocator& allocator, Placement& placement) {
  const ExtendedRequests extended = ReadExtendedRequests(pod, node, facts.classes);
  if (extended.empty()) return OkStatus();
  const Json* made = FindExtendedClaim(pod, facts);
  const Json claim = made != nullptr ? *made : MakeExtendedClaim(pod, extended.requests);
  // It was created for a node that offers some of the resources itself.
  if (claim["spec"]["devices"]["requests"] != extended.requests) {
    return ResourceExhausted("resourceclaim {} was made for another node",
                             api_sim::KeyOf(claim).name);
  }
  Json allocation = made != nullptr ? facts.allocation_of(*made) : Json();
  if (allocation.is_null()) {
    ASSIGN_OR_RETURN(const ClaimRequests requests, ReadClaimRequests(claim, facts.classes));
    ASSIGN_OR_RETURN(allocation, allocator.Allocate(requests));
  } else if (const Json& selector = allocation["nodeSelector"];
             !selector.is_null() && !MatchesNodeSelector(selector, node)) {
    return ResourceExhausted("resourceclaim {} is allocated on another node",
                             api_sim::KeyOf(claim).name);
  }
  placement.extended = ExtendedPlacement{
      .claim = {}, .allocation = allocation, .name = {}, .mappings = extended.mappings};
  if (made == nullptr) {
    placement.extended->claim = claim;
    return OkStatus();
  }
  placement.extended->name = api_sim::KeyOf(*made).name;
  const bool written = !(*made)["status"]["allocation"].is_null();
  placement.claims.push_back({*made, written ? Json() : allocation});
  return OkStatus();
}

StatusOr<Placement> PlaceOn(const Json& pod, const Json& node,
                            const std::vector<NeededClaim>& needed, const PlacementFacts& facts) {
  Placement placement{.node = api_sim::KeyOf(node).name, .claims = {}};
  // One allocator for all claims of the Pod, so that no two get the same device.
  NodeAllocator allocator(facts.inventory, node, facts.in_use);
  for (const NeededClaim& one : needed) {
    Json allocation;
    if (one.allocation->is_null()) {
      ASSIGN_OR_RETURN(allocation, allocator.Allocate(one.requests));
    } else {
      const Json& selector = (*one.allocation)["nodeSelector"];
      // Allocated earlier, maybe for another Pod: this one has to go where the devices are.
      if (!selector.is_null() && !MatchesNodeSelector(selector, node)) {
        return ResourceExhausted("resourceclaim {} is allocated on another node",
                                 api_sim::KeyOf(*one.claim).name);
      }
      // Allocated recently but not seen in the watch yet: the decision stands and is written again.
      if ((*one.claim)["status"]["allocation"].is_null()) allocation = *one.allocation;
    }
    placement.claims.push_back({*one.claim, std::move(allocation)});
  }
  RETURN_IF_ERROR(PlaceExtended(pod, node, facts, allocator, placement));
  return placement;
}

Status NoNode(std::size_t nodes, const std::map<std::string, std::size_t>& reasons) {
  // kube-scheduler's ErrNoNodesAvailable, which differs from that for nodes that do not fit.
  if (nodes == 0) return ResourceExhausted("no nodes available to schedule pods");
  std::string message = fmt::format("0/{} nodes are available", nodes);
  std::size_t shown = 0;
  for (const auto& [reason, count] : reasons) {
    if (shown == kReasonsMax) {
      message += fmt::format("; {} more reasons", reasons.size() - shown);
      break;
    }
    message += fmt::format("{} {}: {}", shown++ == 0 ? ":" : ";", count, reason);
  }
  return ResourceExhausted("{}", message);
}

}  // namespace

StatusOr<Placement> Place(const Json& pod, const PlacementFacts& facts) {
  ASSIGN_OR_RETURN(const std::vector<NeededClaim> needed, ReadAllNeeded(pod, facts));
  std::map<std::string, std::size_t> reasons;
  for (const auto& [key, node] : facts.nodes) {
    if (const std::string refusal = Refuses(node, pod, facts); !refusal.empty()) {
      ++reasons[refusal];
      continue;
    }
    StatusOr<Placement> placement = PlaceOn(pod, node, needed, facts);
    if (placement.ok()) return placement;
    // Equal reasons of several nodes are listed once, with their number.
    ++reasons[placement.status().message()];
  }
  return NoNode(facts.nodes.size(), reasons);
}

}  // namespace galen::cluster_sim
