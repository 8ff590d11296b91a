#include "api_sim/objects/pod_facts.h"

#include <algorithm>

namespace galen::api_sim {
namespace {

const Json& ClaimStatusOf(const Json& pod, const std::string& name) {
  static const Json kNone;
  for (const Json& entry : pod["status"]["resourceClaimStatuses"].items()) {
    if (entry["name"].AsString() == name) return entry;
  }
  return kNone;
}

}  // namespace

const std::string& UidOf(const Json& object) { return object["metadata"]["uid"].AsString(); }

bool IsBeingDeleted(const Json& object) {
  return !object["metadata"]["deletionTimestamp"].is_null();
}

bool HasPodEnded(const Json& pod) {
  const std::string& phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

bool IsPodDone(const Json& pod) {
  if (HasPodEnded(pod)) return true;
  // A deleted Pod that has a node may still run until the node reports its end.
  return IsBeingDeleted(pod) && pod["spec"]["nodeName"].AsString().empty();
}

std::vector<PodClaimFacts> PodClaims(const Json& pod) {
  std::vector<PodClaimFacts> claims;
  for (const Json& entry : pod["spec"]["resourceClaims"].items()) {
    PodClaimFacts facts{.name = entry["name"].AsString(),
                        .template_name = entry["resourceClaimTemplateName"].AsString(),
                        .object_name = std::nullopt};
    const std::string& named = entry["resourceClaimName"].AsString();
    if (!named.empty()) facts.object_name = named;
    const Json& status = ClaimStatusOf(pod, facts.name);
    const std::string& made = status["resourceClaimName"].AsString();
    // The status wins: it names the claim that was made for this Pod.
    if (!made.empty()) facts.object_name = made;
    facts.not_needed = !status.is_null() && made.empty() && facts.from_template();
    claims.push_back(std::move(facts));
  }
  return claims;
}

const Json* OwnerPod(const Json& claim) {
  for (const Json& owner : claim["metadata"]["ownerReferences"].items()) {
    const bool pod = owner["kind"].AsString() == "Pod" && owner["apiVersion"].AsString() == "v1";
    if (pod && owner["controller"].AsBool()) return &owner;
  }
  return nullptr;
}

bool HasFinalizer(const Json& object, std::string_view finalizer) {
  const auto& finalizers = object["metadata"]["finalizers"].items();
  return std::any_of(finalizers.begin(), finalizers.end(),
                     [finalizer](const Json& item) { return item.AsString() == finalizer; });
}

std::vector<PodRef> Holders(const Json& claim) {
  std::vector<PodRef> pods;
  for (const Json& holder : claim["status"]["reservedFor"].items()) {
    if (holder["resource"].AsString() != "pods") continue;
    if (!holder["apiGroup"].AsString().empty()) continue;
    pods.push_back({{KeyOf(claim).ns, holder["name"].AsString()}, holder["uid"].AsString()});
  }
  return pods;
}

bool IsReservedForPodOrItsGroup(const Json& claim, const Json& pod) {
  const std::string& group = pod["spec"]["schedulingGroup"]["podGroupName"].AsString();
  const auto& consumers = claim["status"]["reservedFor"].items();
  return std::any_of(consumers.begin(), consumers.end(), [&](const Json& consumer) {
    if (consumer["uid"].AsString() == UidOf(pod)) return true;
    return !group.empty() && consumer["apiGroup"].AsString() == "scheduling.k8s.io" &&
           consumer["resource"].AsString() == "podgroups" && consumer["name"].AsString() == group;
  });
}

const Json& FindCondition(const Json& conditions, std::string_view type) {
  static const Json kNone;
  for (const Json& condition : conditions.items()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return kNone;
}

}  // namespace galen::api_sim
