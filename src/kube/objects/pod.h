// A Pod as far as device health is concerned. resourceVersion and most of the spec are left out, so
// that a change of theirs is no change to us.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects/meta.h"

namespace galen::kube {

// An entry of container.resources.claims.
struct ContainerClaim {
  std::string name;     // pod-local, of spec.resourceClaims
  std::string request;  // "" = all requests of the claim
  bool operator==(const ContainerClaim&) const = default;
};

struct Container {
  enum class Kind { kMain, kInit, kSidecar, kEphemeral };
  std::string name;
  std::string image;
  Kind kind = Kind::kMain;
  std::vector<ContainerClaim> claims;
  bool operator==(const Container&) const = default;
};

// An entry of spec.resourceClaims.
struct PodClaim {
  std::string name;
  std::string claim_name;  // one of the two
  std::string template_name;
  bool operator==(const PodClaim&) const = default;
};

// One device as status.containerStatuses[].allocatedResourcesStatus[].resources tells it.
struct ResourceHealth {
  std::string resource_id;
  std::string health;   // "Healthy", "Unhealthy", "Unknown"
  std::string message;  // "" = none
  bool operator==(const ResourceHealth&) const = default;
};
struct ResourceStatus {
  std::string name;  // "claim:gpu/req-0", "vendor.com/nic"
  std::vector<ResourceHealth> resources;
  bool operator==(const ResourceStatus&) const = default;
};

struct ContainerStatus {
  std::string name;
  bool running = false;
  std::optional<int> exit_code;  // of the present or the last termination
  std::optional<int> signal;
  std::string reason;  // of that termination or of waiting: "OOMKilled", "CrashLoopBackOff"
  std::string message;
  std::optional<WallTime> finished;
  int restarts = 0;
  std::vector<ResourceStatus> allocated;
  bool operator==(const ContainerStatus&) const = default;
};

struct PodCondition {
  std::string type, status, reason, message;
  std::optional<WallTime> changed;
  bool operator==(const PodCondition&) const = default;
};

// status.extendedResourceClaimStatus.requestMappings[]
struct ExtendedResourceMapping {
  std::string container, resource, request;
  bool operator==(const ExtendedResourceMapping&) const = default;
};

struct Pod {
  Meta meta;
  std::string node;
  std::string phase;                  // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::vector<Container> containers;  // main, then init and sidecars, then ephemeral
  std::vector<PodClaim> claims;
  std::map<std::string, std::string>
      claim_names;             // status.resourceClaimStatuses: pod-local → object
  std::string extended_claim;  // status.extendedResourceClaimStatus.resourceClaimName
  std::vector<ExtendedResourceMapping> extended;
  std::vector<ContainerStatus> statuses;
  std::vector<ContainerStatus> init_statuses;
  std::vector<PodCondition> conditions;
  std::string devices_annotation;  // galen.dev/devices
  std::optional<WallTime> started;
  bool operator==(const Pod&) const = default;

  PodRef ref() const { return {meta.key, meta.uid}; }
};

StatusOr<Pod> DecodePod(const Json& object);

// The ResourceClaim object that a pod-local claim name stands for: status first, then
// spec.resourceClaimName. nullopt: not made yet, or needs none.
std::optional<std::string> ClaimObjectName(const Pod& pod, std::string_view pod_claim);

inline constexpr std::string_view kDevicesAnnotation = "galen.dev/devices";
inline constexpr std::string_view kDevicesCondition = "galen.dev/DevicesHealthy";

}  // namespace galen::kube
