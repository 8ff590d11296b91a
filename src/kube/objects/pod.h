// A Pod as far as device health is concerned. resourceVersion and most of the spec are left out, so
// that a change of theirs is no change to us. A value, only ever read: patches are made by those
// who know what they change.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/objects/meta.h"

namespace galen::kube {

// An entry of container.resources.claims: which devices of a claim a container gets.
struct ContainerClaim {
  std::string name;     // pod-local, of spec.resourceClaims
  std::string request;  // "" = all requests of the claim
  bool operator==(const ContainerClaim&) const = default;
};

// A container of the spec, of any kind.
struct Container {
  enum class Kind { kMain, kInit, kSidecar, kEphemeral };
  std::string name;
  std::string image;
  Kind kind = Kind::kMain;
  std::vector<ContainerClaim> claims;
  // Extended resources that it asks for, such as "nvidia.com/gpu": a device plugin's, or a driver's
  // where the Pod's `extended` has them.
  std::set<std::string> resources = {};
  bool operator==(const Container&) const = default;
};

// An entry of spec.resourceClaims: a pod-local name for a claim object, or for a template of one.
struct PodClaim {
  std::string name;
  // resourceClaimName; "" when it is by template. Exactly one of the two is set.
  std::string claim_name;
  std::string template_name;
  bool operator==(const PodClaim&) const = default;
};

// One device in status.containerStatuses[].allocatedResourcesStatus[].resources (KEP-4680).
struct ResourceHealth {
  // As the kubelet writes it: for DRA the device's CDI name, or "driver/pool/device" where it has
  // none; for a device plugin its own name of it.
  std::string resource_id;
  std::string health;   // "Healthy", "Unhealthy", "Unknown"
  std::string message;  // "" = none
  bool operator==(const ResourceHealth&) const = default;
};
// The devices of one resource or claim request; `name` distinguishes the entries of a container.
struct ResourceStatus {
  std::string name;  // "claim:gpu/req-0", "vendor.com/nic"
  std::vector<ResourceHealth> resources;
  bool operator==(const ResourceStatus&) const = default;
};

// The state of a container.
struct ContainerStatus {
  std::string name;
  bool running = false;
  std::optional<int> exit_code;  // of the present or the last termination
  std::optional<int> signal;
  std::string reason;  // of that termination or of waiting: "OOMKilled", "CrashLoopBackOff"
  std::string message;
  std::optional<WallTime> finished;
  // restartCount of the kubelet; may begin anew after the node was started again.
  int restarts = 0;
  std::vector<ResourceStatus> allocated;
  // From the last termination, whatever the container does now: "OOMKilled" where `reason` says
  // "CrashLoopBackOff". The message is what it left at terminationMessagePath, or the runtime's.
  std::string end_reason;
  std::string end_message;
  std::optional<WallTime> end_started;    // when the run began that ended so
  std::optional<WallTime> running_since;  // of a container that runs
  bool operator==(const ContainerStatus&) const = default;
};

// A condition as in the object; anybody may add types.
struct PodCondition {
  std::string type, status, reason, message;
  std::optional<WallTime> changed;
  bool operator==(const PodCondition&) const = default;
};

// status.extendedResourceClaimStatus.requestMappings[]: which request of that claim stands for an
// extended resource of a container.
struct ExtendedResourceMapping {
  std::string container, resource, request;
  bool operator==(const ExtendedResourceMapping&) const = default;
};

// The Pod itself: what its spec asks for and what its status says.
struct Pod {
  Meta meta;
  std::string node;
  std::string phase;                  // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::vector<Container> containers;  // main, then init and sidecars, then ephemeral
  std::string restart_policy;         // "Always", "OnFailure", "Never"
  std::vector<PodClaim> claims;
  std::string group;  // spec.schedulingGroup.podGroupName; "" for a Pod of none
  std::map<std::string, std::string>
      claim_names;             // status.resourceClaimStatuses: pod-local → object
  std::string extended_claim;  // status.extendedResourceClaimStatus.resourceClaimName
  std::vector<ExtendedResourceMapping> extended;
  std::vector<ContainerStatus> statuses;
  std::vector<ContainerStatus> init_statuses;
  std::vector<PodCondition> conditions;
  std::string devices_annotation;  // galen.dev/devices
  std::optional<WallTime> started;
  std::string reason;  // status.reason, of the whole Pod: "Evicted", "NodeShutdown"; mostly ""
  // When its deletion was requested: its deletionTimestamp, when its grace ends, less that grace.
  std::optional<WallTime> asked_to_go;
  bool operator==(const Pod&) const = default;

  PodRef ref() const { return {meta.key, meta.uid}; }
};

// InvalidArgument when its metadata is broken; everything else may be missing.
StatusOr<Pod> DecodePod(const Json& object);

// The ResourceClaim object that a pod-local claim name stands for: status first, then
// spec.resourceClaimName. nullopt: not made yet, or needs none.
std::optional<std::string> ClaimObjectName(const Pod& pod, std::string_view pod_claim);

// Whether a container asks for devices of a device plugin: for an extended resource that no claim
// stands for. Not one that ends before the others begin: of those the kubelet names no devices.
bool WantsPluginDevices(const Pod& pod);
// Whether that container asks for that resource from a device plugin.
bool WantsPluginDevice(const Pod& pod, std::string_view container, std::string_view resource);

// The texts that our publisher writes: the devices in short, and whether all of them are well.
inline constexpr std::string_view kDevicesAnnotation = "galen.dev/devices";
inline constexpr std::string_view kDevicesCondition = "galen.dev/DevicesHealthy";

// The Pod's condition of that type, which is part of `pod`; null where it has none.
const PodCondition* FindDevicesCondition(const Pod& pod);

}  // namespace galen::kube
