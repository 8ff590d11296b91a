// What a Pod should say of its devices: the annotation that people read, the condition that
// programs read, and the kubelet's own list per container. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/claim_index.h"
#include "kube/objects/pod.h"
#include "model/health.h"

namespace galen::agent {

// Kubernetes knows no Degraded.
enum class DegradedAs { kHealthy, kUnhealthy };

using HealthOf = std::function<DeviceHealth(const DeviceId& device)>;

inline constexpr std::size_t kAnnotationBytesMax = 1024;
// ResourceHealth.message and a condition's message, by Kubernetes' validation.
inline constexpr std::size_t kStatusMessageBytesMax = 1024;

struct WantedCondition {
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;

  bool operator==(const WantedCondition&) const = default;
};

struct WantedPodStatus {
  std::string annotation;
  WantedCondition condition;
  // By container; in order of name and resourceID, so that equal states have equal texts.
  std::map<std::string, std::vector<kube::ResourceStatus>> main;
  std::map<std::string, std::vector<kube::ResourceStatus>> init;

  bool operator==(const WantedPodStatus&) const = default;
};

// Each device once, worst first.
std::vector<DeviceHealth> FindingsOf(const std::vector<HeldDevice>& devices,
                                     const HealthOf& health_of);

// "gpu-3 Unhealthy since 2026-11-21T14:02:11Z: XID 79: …; gpu-4 Healthy", at most
// kAnnotationBytesMax: what does not fit is counted at the end.
std::string AnnotationOf(const std::vector<DeviceHealth>& findings);

WantedCondition ConditionOf(const std::vector<DeviceHealth>& findings, DegradedAs degraded);

// REQUIRES: at least one device.
WantedPodStatus WantedStatusOf(const std::vector<HeldDevice>& devices, const HealthOf& health_of,
                               DegradedAs degraded);

// "Healthy", "Unhealthy" or "Unknown".
std::string_view KubernetesHealth(HealthState state, DegradedAs degraded);

}  // namespace galen::agent
