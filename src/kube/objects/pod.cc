#include "kube/objects/pod.h"

#include <algorithm>
#include <utility>

namespace galen::kube {
namespace {

std::vector<ContainerClaim> DecodeContainerClaims(const Json& container) {
  std::vector<ContainerClaim> claims;
  for (const Json& claim : container["resources"]["claims"].items()) {
    claims.push_back({claim["name"].AsString(), claim["request"].AsString()});
  }
  return claims;
}

// As Kubernetes distinguishes extended resources from its own (IsExtendedResourceName): a domain
// that is not kubernetes.io or below it. Limits: requests of such a resource are equal to them.
std::set<std::string> DecodeExtendedResources(const Json& container) {
  std::set<std::string> resources;
  for (const auto& [name, quantity] : container["resources"]["limits"].members()) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos || quantity.AsString() == "0") continue;
    if (name.find("kubernetes.io/") == std::string::npos) resources.insert(name);
  }
  return resources;
}

// Appends, so that the kinds come one after the other in `out`.
void DecodeContainers(const Json& list, Container::Kind kind, std::vector<Container>& out) {
  for (const Json& container : list.items()) {
    // An init container that is restarted for ever runs beside the main ones.
    const bool sidecar =
        kind == Container::Kind::kInit && container["restartPolicy"].AsString() == "Always";
    out.push_back({.name = container["name"].AsString(),
                   .image = container["image"].AsString(),
                   .kind = sidecar ? Container::Kind::kSidecar : kind,
                   .claims = DecodeContainerClaims(container),
                   .resources = DecodeExtendedResources(container)});
  }
}

std::vector<ResourceStatus> DecodeAllocated(const Json& list) {
  std::vector<ResourceStatus> out;
  for (const Json& entry : list.items()) {
    ResourceStatus status{entry["name"].AsString(), {}};
    for (const Json& resource : entry["resources"].items()) {
      status.resources.push_back({resource["resourceID"].AsString(), resource["health"].AsString(),
                                  resource["message"].AsString()});
    }
    out.push_back(std::move(status));
  }
  return out;
}

// A container that is waiting or running again keeps its last end in lastState.
const Json& TerminationOf(const Json& status) {
  const Json& now = status["state"]["terminated"];
  return now.is_object() ? now : status["lastState"]["terminated"];
}

ContainerStatus DecodeContainerStatus(const Json& status) {
  const Json& ended = TerminationOf(status);
  const Json& waiting = status["state"]["waiting"];
  // Waiting says why now ("CrashLoopBackOff"); its last end has code and signal all the same.
  const Json& why = waiting.is_object() ? waiting : ended;
  ContainerStatus out;
  out.name = status["name"].AsString();
  out.running = status["state"]["running"].is_object();
  if (out.running) out.running_since = DecodeTime(status["state"]["running"]["startedAt"]);
  // 0 is an exit code too; a missing one stays nullopt.
  if (ended["exitCode"].is_int()) out.exit_code = static_cast<int>(ended["exitCode"].AsInt());
  if (ended["signal"].AsInt() != 0) out.signal = static_cast<int>(ended["signal"].AsInt());
  out.reason = why["reason"].AsString();
  out.message = why["message"].AsString();
  out.finished = DecodeTime(ended["finishedAt"]);
  out.end_reason = ended["reason"].AsString();
  out.end_message = ended["message"].AsString();
  out.end_started = DecodeTime(ended["startedAt"]);
  out.restarts = static_cast<int>(status["restartCount"].AsInt());
  out.allocated = DecodeAllocated(status["allocatedResourcesStatus"]);
  return out;
}

std::vector<ContainerStatus> DecodeContainerStatuses(const Json& list) {
  std::vector<ContainerStatus> out;
  for (const Json& status : list.items()) out.push_back(DecodeContainerStatus(status));
  return out;
}

void DecodeSpec(const Json& spec, Pod& pod) {
  pod.node = spec["nodeName"].AsString();
  pod.restart_policy = spec["restartPolicy"].AsString();
  pod.group = spec["schedulingGroup"]["podGroupName"].AsString();
  DecodeContainers(spec["containers"], Container::Kind::kMain, pod.containers);
  DecodeContainers(spec["initContainers"], Container::Kind::kInit, pod.containers);
  DecodeContainers(spec["ephemeralContainers"], Container::Kind::kEphemeral, pod.containers);
  for (const Json& claim : spec["resourceClaims"].items()) {
    pod.claims.push_back({claim["name"].AsString(), claim["resourceClaimName"].AsString(),
                          claim["resourceClaimTemplateName"].AsString()});
  }
}

void DecodeConditions(const Json& list, Pod& pod) {
  pod.conditions.reserve(list.items().size());
  for (const Json& condition : list.items()) {
    pod.conditions.push_back({.type = condition["type"].AsString(),
                              .status = condition["status"].AsString(),
                              .reason = condition["reason"].AsString(),
                              .message = condition["message"].AsString(),
                              .changed = DecodeTime(condition["lastTransitionTime"])});
  }
}

void DecodeStatus(const Json& status, Pod& pod) {
  pod.phase = status["phase"].AsString();
  pod.started = DecodeTime(status["startTime"]);
  pod.reason = status["reason"].AsString();
  for (const Json& claim : status["resourceClaimStatuses"].items()) {
    pod.claim_names[claim["name"].AsString()] = claim["resourceClaimName"].AsString();
  }
  const Json& extended = status["extendedResourceClaimStatus"];
  pod.extended_claim = extended["resourceClaimName"].AsString();
  for (const Json& mapping : extended["requestMappings"].items()) {
    pod.extended.push_back({mapping["containerName"].AsString(), mapping["resourceName"].AsString(),
                            mapping["requestName"].AsString()});
  }
  pod.statuses = DecodeContainerStatuses(status["containerStatuses"]);
  pod.init_statuses = DecodeContainerStatuses(status["initContainerStatuses"]);
  DecodeConditions(status["conditions"], pod);
}

}  // namespace

StatusOr<Pod> DecodePod(const Json& object) {
  Pod pod;
  ASSIGN_OR_RETURN(pod.meta, DecodeMeta(object));
  pod.devices_annotation = object["metadata"]["annotations"][kDevicesAnnotation].AsString();
  if (pod.meta.deleted) {
    // The field may hold any number; no grace is longer than a day.
    const std::int64_t grace = std::clamp<std::int64_t>(
        object["metadata"]["deletionGracePeriodSeconds"].AsInt(), 0, 24 * 60 * 60);
    pod.asked_to_go = *pod.meta.deleted - std::chrono::seconds(grace);
  }
  DecodeSpec(object["spec"], pod);
  DecodeStatus(object["status"], pod);
  return pod;
}

std::optional<std::string> ClaimObjectName(const Pod& pod, std::string_view pod_claim) {
  const auto recorded = pod.claim_names.find(std::string(pod_claim));
  if (recorded != pod.claim_names.end() && !recorded->second.empty()) return recorded->second;
  for (const PodClaim& claim : pod.claims) {
    if (claim.name == pod_claim && !claim.claim_name.empty()) return claim.claim_name;
  }
  return std::nullopt;
}

bool WantsPluginDevices(const Pod& pod) {
  return std::ranges::any_of(pod.containers, [&](const Container& container) {
    return std::ranges::any_of(container.resources, [&](const std::string& resource) {
      return WantsPluginDevice(pod, container.name, resource);
    });
  });
}

bool WantsPluginDevice(const Pod& pod, std::string_view container, std::string_view resource) {
  const bool by_claim = std::ranges::any_of(pod.extended, [&](const auto& mapping) {
    return mapping.container == container && mapping.resource == resource;
  });
  return !by_claim && std::ranges::any_of(pod.containers, [&](const Container& c) {
    return c.name == container && c.kind != Container::Kind::kInit &&
           c.resources.contains(std::string(resource));
  });
}

const PodCondition* FindDevicesCondition(const Pod& pod) {
  const auto it = std::ranges::find(pod.conditions, kDevicesCondition, &PodCondition::type);
  return it == pod.conditions.end() ? nullptr : &*it;
}

}  // namespace galen::kube
