// What a Pod should say of its devices: the annotation that people read (kubectl describe prints it
// whole), the condition that programs read, and the kubelet's own list per container
// (allocatedResourcesStatus, KEP-4680), which only a manager writes. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "kube/objects/pod.h"
#include "model/health.h"

namespace galen::agent {

// How a degraded device is shown to Kubernetes, which has no Degraded.
enum class DegradedAs { kHealthy, kUnhealthy };

// The present health of a device; answers for any id, as HealthKeeper does.
using HealthOf = std::function<DeviceHealth(const DeviceId& device)>;

// Our own bound: Kubernetes allows far more, but a person would not read it.
inline constexpr std::size_t kAnnotationBytesMax = 1024;
// ResourceHealth.message and a condition's message, by Kubernetes' validation.
inline constexpr std::size_t kStatusMessageBytesMax = 1024;

// Its type is kube::kDevicesCondition. True: no device is bad. The reason is the worst device's
// code, or "AllHealthy".
struct WantedCondition {
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;

  bool operator==(const WantedCondition&) const = default;
};

// What a Pod shows of devices besides those that are known to be its own: what device plugins gave
// it, after a start of the agent and before the kubelet has said so. As far as a Pod shows it: of
// most no code, and kReported stands for it.
struct ShownOthers {
  std::vector<DeviceHealth> findings{};
  std::size_t counted = 0;      // only their number is shown
  WantedCondition condition{};  // of the Pod as it is
};
// Read from annotation and condition, as they are written here (shown_others.cc).
ShownOthers ShownOthersOf(const kube::Pod& pod, const std::vector<HeldDevice>& held);

// All that the agent wants a Pod's object to show of its devices.
struct WantedPodStatus {
  std::string annotation;
  WantedCondition condition;
  // By container; in order of name and resourceID, so that equal states have equal texts.
  std::map<std::string, std::vector<kube::ResourceStatus>> main;
  // Init containers and sidecars. Ephemeral containers have none: the API server forbids it.
  std::map<std::string, std::vector<kube::ResourceStatus>> init;

  bool operator==(const WantedPodStatus&) const = default;
};

// Each device once, worst first, however many claims and containers share it.
std::vector<DeviceHealth> FindingsOf(const std::vector<HeldDevice>& devices,
                                     const HealthOf& health_of);

// "gpu-3 Unhealthy since 2026-11-21T14:02:11Z: XID 79: …; gpu-4 Healthy", at most
// kAnnotationBytesMax: what does not fit is counted at the end, with `more`. "; " is between two
// devices only: in a driver's sentence it becomes ", ".
std::string AnnotationOf(const std::vector<DeviceHealth>& findings, std::size_t more = 0);

// `findings` in order of WorseFirst: bad before unknown before degraded. Without any, all is
// healthy.
WantedCondition ConditionOf(const std::vector<DeviceHealth>& findings, DegradedAs degraded);

// The same devices and healths give equal values, whatever order they came in. `others` stay as
// they are shown. REQUIRES: at least one device.
WantedPodStatus WantedStatusOf(const std::vector<HeldDevice>& devices, const HealthOf& health_of,
                               DegradedAs degraded, const ShownOthers& others = {});

// "Healthy", "Unhealthy" or "Unknown".
std::string_view KubernetesHealth(HealthState state, DegradedAs degraded);

}  // namespace galen::agent
