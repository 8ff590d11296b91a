// Reads from Pods and DaemonSets how they are placed and replaced.
#include <algorithm>
#include <array>

#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

// A Pod that mounts one of these looks after devices: a kubelet's registry of DRA and CSI drivers,
// its directory of device plugins, or Galen's of health sources.
constexpr std::array<std::string_view, 3> kRegistries = {"/plugins_registry", "/device-plugins",
                                                         "/run/galen/health"};

bool MountsRegistry(const Json& spec) {
  for (const Json& volume : spec["volumes"].items()) {
    const std::string& path = volume["hostPath"]["path"].AsString();
    for (const std::string_view registry : kRegistries) {
      if (path.find(registry) != std::string::npos) return true;
    }
  }
  return false;
}

// Limits count as requests when these are missing, as the API server sets them.
bool Requests(const Json& container, const char* resource) {
  const Json& resources = container["resources"];
  return resources["requests"].Has(resource) || resources["limits"].Has(resource);
}

}  // namespace

void ReadPlace(const Json& spec, PodSeen& pod) {
  pod.is_driver = !pod.runs_agent && MountsRegistry(spec);
  pod.priority = spec["priority"].AsInt();
  for (const Json& container : spec["containers"].items()) {
    if (Requests(container, "cpu") && Requests(container, "memory")) continue;
    pod.without_requests.push_back(container["name"].AsString());
  }
  if (const Json& grace = spec["terminationGracePeriodSeconds"]; grace.is_int()) {
    pod.grace = std::chrono::seconds(grace.AsInt());
  }
  for (const Json& toleration : spec["tolerations"].items()) {
    TolerationSeen seen{.key = toleration["key"].AsString(),
                        .effect = toleration["effect"].AsString(),
                        .lasts = std::nullopt};
    if (toleration.Has("tolerationSeconds")) {
      seen.lasts = std::chrono::seconds(toleration["tolerationSeconds"].AsInt());
    }
    pod.tolerations.push_back(std::move(seen));
  }
}

DaemonSetSeen ReadDaemonSet(const Json& object) {
  const Json& strategy = object["spec"]["updateStrategy"];
  const Json& status = object["status"];
  DaemonSetSeen seen{.by_hand = strategy["type"].AsString() == "OnDelete",
                     .nodes = status["desiredNumberScheduled"].AsInt(),
                     .updated = status["updatedNumberScheduled"].AsInt()};
  const Json& at_once = strategy["rollingUpdate"]["maxUnavailable"];
  if (!at_once.AsString().empty()) {
    seen.at_once = at_once.AsString();
  } else if (!at_once.is_null()) {
    seen.at_once = std::to_string(at_once.AsInt());
  }
  return seen;
}

}  // namespace galen::doctor
