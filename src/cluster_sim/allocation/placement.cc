#include "cluster_sim/allocation/placement.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "alloc/explanation/shortage.h"
#include "alloc/objects/node_selector.h"
#include "alloc/objects/pod_reach.h"
#include "alloc/objects/resource_claim.h"
#include "alloc/objects/resource_slice.h"
#include "alloc/quantity.h"
#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/allocation/extended_resources.h"

namespace galen::cluster_sim {
namespace {

// Limit of different reasons in one message; a thousand nodes may have as many, and the message is
// shown in the Pod's status.
constexpr std::size_t kReasonsMax = 4;
// An error on one node ends the attempt, as in kube-scheduler, which looks on until it has so many
// nodes that fit (minFeasibleNodesToFind of its schedule_one.go).
constexpr std::size_t kFeasibleNodesMin = 100;
// The API's bound of status.reservedFor (ResourceClaimReservedForMaxSize of resource.k8s.io/v1).
constexpr std::size_t kHoldersMax = 256;

// A claim with what it asks for, which is not read when it has an allocation.
struct NeededClaim {
  const Json* claim;
  const Json* allocation;  // null inside: none yet
  alloc::ResourceClaim wanted;

  bool has_devices() const { return !allocation->is_null(); }
};

// The claims that need devices on a node, with one allocator for all of them, so that no two get
// the same device. Borrows the book.
class Question {
 public:
  Question(DeviceBook& devices, const std::vector<NeededClaim>& needed,
           const std::optional<alloc::ResourceClaim>& extended)
      : devices_(devices), claims_(Unallocated(needed)) {
    if (extended) claims_.push_back(*extended);
    demand_ = alloc::PrepareDemand(claims_, devices.classes(), devices.inventory(), devices.memo());
    allocator_.emplace(devices.inventory(), devices.usage(), demand_, devices.memo());
  }
  Question(const Question&) = delete;

  // By claim. ResourceExhausted: not on this node; InvalidArgument: on none, and it cannot be said
  // what would help.
  StatusOr<std::vector<Json>> Ask(const Json& node) {
    if (claims_.empty()) return std::vector<Json>();
    // A missing class may be created later: that is no fault of the claim.
    if (demand_.refused.code() == Code::kFailedPrecondition) {
      return ResourceExhausted("{}", demand_.refused.message());
    }
    const alloc::Outcome outcome = allocator_->Allocate(alloc::ReadNode(node));
    switch (outcome.verdict) {
      case alloc::Outcome::Verdict::kFits:
        break;
      case alloc::Outcome::Verdict::kError:
        return InvalidArgument("{}", outcome.message);
      case alloc::Outcome::Verdict::kDoesNotFit:
        return ResourceExhausted("{}", alloc::ShortageOf(alloc::ReadNode(node), claims_,
                                                         {devices_.inventory(), devices_.usage(),
                                                          devices_.classes(), devices_.memo()}));
      default:
        return ResourceExhausted("{}", outcome.message);
    }
    std::vector<Json> allocations;
    for (const alloc::Allocation& allocation : outcome.allocations) {
      allocations.push_back(alloc::WriteAllocation(allocation));
    }
    return allocations;
  }

 private:
  static std::vector<alloc::ResourceClaim> Unallocated(const std::vector<NeededClaim>& needed) {
    std::vector<alloc::ResourceClaim> claims;
    for (const NeededClaim& one : needed) {
      if (!one.has_devices()) claims.push_back(one.wanted);
    }
    return claims;
  }

  DeviceBook& devices_;
  std::vector<alloc::ResourceClaim> claims_;
  alloc::Demand demand_;
  std::optional<alloc::Allocator> allocator_;
};

// Whether a v1 NodeSelector matches the node; one that Kubernetes cannot evaluate matches none.
bool Selects(const Json& selector, const Json& node) {
  const alloc::NodeSelector read = alloc::ReadNodeSelector(selector);
  return Validate(read).ok() && Matches(read, alloc::ReadNode(node));
}

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
      .claim = &claim->second, .allocation = &facts.allocation_of(claim->second), .wanted = {}};
  if (needed.has_devices()) return needed;
  ASSIGN_OR_RETURN(needed.wanted, alloc::ReadResourceClaim(claim->second));
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
  const StatusOr<alloc::Quantity> most = alloc::ReadQuantity(bound);
  if (!most.ok()) return false;
  const auto pods = static_cast<std::int64_t>(facts.pods_on(api_sim::KeyOf(node).name));
  return alloc::Quantity::Of(pods) >= *most;
}

// Why the Pod cannot go to `node` whatever its claims; "" when it can.
std::string Refuses(const Json& node, const alloc::PodReach& reach, const PlacementFacts& facts) {
  const std::string refusal = RefusalOf(reach, alloc::ReadNodeState(node));
  return refusal.empty() && IsFull(node, facts) ? "full" : refusal;
}

// The claim that an earlier try created for the Pod's extended resources; nullptr: none.
const Json* FindExtendedClaim(const Json& pod, const PlacementFacts& facts) {
  for (const auto& [key, claim] : facts.claims) {
    if (key.ns != api_sim::KeyOf(pod).ns || !IsExtendedClaimOf(claim, pod)) continue;
    if (!api_sim::IsBeingDeleted(claim)) return &claim;
  }
  return nullptr;
}

// What a node has to give for the Pod's extended resources.
struct ExtendedNeed {
  ExtendedRequests requests;
  const Json* made = nullptr;  // the claim of an earlier try
  Json claim;                  // that one, or the one to be created
  Json allocation;             // null: it needs devices
};

// ResourceExhausted: the claim that was made belongs to another node.
StatusOr<std::optional<ExtendedNeed>> ReadExtended(const Json& pod, const Json& node,
                                                   const PlacementFacts& facts) {
  ExtendedNeed need{.requests = ReadExtendedRequests(pod, node, facts.classes)};
  if (need.requests.empty()) return std::optional<ExtendedNeed>();
  need.made = FindExtendedClaim(pod, facts);
  need.claim = need.made != nullptr ? *need.made : MakeExtendedClaim(pod, need.requests.requests);
  // It was created for a node that offers some of the resources itself.
  if (need.claim["spec"]["devices"]["requests"] != need.requests.requests) {
    return ResourceExhausted("resourceclaim {} was made for another node",
                             api_sim::KeyOf(need.claim).name);
  }
  if (need.made != nullptr) need.allocation = facts.allocation_of(*need.made);
  if (const Json& selector = std::as_const(need.allocation)["nodeSelector"];
      !selector.is_null() && !Selects(selector, node)) {
    return ResourceExhausted("resourceclaim {} is allocated on another node",
                             api_sim::KeyOf(need.claim).name);
  }
  return std::optional<ExtendedNeed>(std::move(need));
}

void AddExtended(const ExtendedNeed& need, const Json& allocation, Placement& placement) {
  placement.extended = ExtendedPlacement{
      .claim = {}, .allocation = allocation, .name = {}, .mappings = need.requests.mappings};
  if (need.made == nullptr) {
    placement.extended->claim = need.claim;
    return;
  }
  placement.extended->name = api_sim::KeyOf(need.claim).name;
  const bool written = !need.claim["status"]["allocation"].is_null();
  placement.claims.push_back({need.claim, written ? Json() : allocation});
}

// Decides one node after the other, for one Pod. Borrows all.
class Placer {
 public:
  Placer(const Json& pod, const std::vector<NeededClaim>& needed, const PlacementFacts& facts)
      : pod_(pod), needed_(needed), facts_(facts) {}

  StatusOr<Placement> PlaceOn(const Json& node) {
    ASSIGN_OR_RETURN(const std::optional<ExtendedNeed> extended, ReadExtended(pod_, node, facts_));
    const bool new_devices = extended && extended->allocation.is_null();
    std::optional<alloc::ResourceClaim> wanted;
    if (new_devices) {
      ASSIGN_OR_RETURN(wanted, alloc::ReadResourceClaim(extended->claim));
    }
    ASSIGN_OR_RETURN(std::vector<Json> found,
                     QuestionFor(extended ? extended->claim : Json(), wanted).Ask(node));
    // After the question, as in kube-scheduler: its errors count on nodes out of reach, too.
    RETURN_IF_ERROR(CheckReach(node));
    auto next = found.begin();
    Placement placement{.node = api_sim::KeyOf(node).name, .claims = {}};
    for (const NeededClaim& one : needed_) {
      placement.claims.push_back({*one.claim, one.has_devices() ? Unseen(one) : *next++});
    }
    if (extended) AddExtended(*extended, new_devices ? *next : extended->allocation, placement);
    return placement;
  }

 private:
  // Allocated earlier, maybe for another Pod: this one has to go where the devices are.
  Status CheckReach(const Json& node) const {
    for (const NeededClaim& one : needed_) {
      const Json& selector = (*one.allocation)["nodeSelector"];
      if (!selector.is_null() && !Selects(selector, node)) {
        return ResourceExhausted("resourceclaim {} is allocated on another node",
                                 api_sim::KeyOf(*one.claim).name);
      }
    }
    return OkStatus();
  }
  // Allocated recently but not seen in the watch yet: the decision stands and is written again.
  static Json Unseen(const NeededClaim& one) {
    return (*one.claim)["status"]["allocation"].is_null() ? *one.allocation : Json();
  }
  // Most nodes ask for the same: what differs is which extended resources they offer themselves.
  Question& QuestionFor(const Json& extended, const std::optional<alloc::ResourceClaim>& wanted) {
    if (!question_ || extended != extended_) {
      extended_ = extended;
      question_.emplace(facts_.devices, needed_, wanted);
    }
    return *question_;
  }

  const Json& pod_;
  const std::vector<NeededClaim>& needed_;
  const PlacementFacts& facts_;
  Json extended_;
  std::optional<Question> question_;
};

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
  Placer placer(pod, needed, facts);
  const alloc::PodReach reach = alloc::ReadPodReach(pod);
  std::map<std::string, std::size_t> reasons;
  std::optional<Placement> first;
  std::size_t feasible = 0;
  for (const auto& [key, node] : facts.nodes) {
    if (const std::string refusal = Refuses(node, reach, facts); !refusal.empty()) {
      ++reasons[refusal];
      continue;
    }
    StatusOr<Placement> placement = placer.PlaceOn(node);
    if (placement.ok()) {
      if (!first) first = std::move(placement).value();
      if (++feasible == kFeasibleNodesMin) break;
    } else if (placement.status().code() == Code::kInvalidArgument) {
      return placement.status();
    } else {
      // Equal reasons of several nodes are listed once, with their number.
      ++reasons[placement.status().message()];
    }
  }
  if (first) return *std::move(first);
  return NoNode(facts.nodes.size(), reasons);
}

}  // namespace galen::cluster_sim
