#include <fmt/format.h>

#include "doctor/check.h"

namespace galen::doctor {
namespace {

// Gates that are on by default, and since which minor version
// (kubernetes.io/docs/reference/command-line-tools-reference/feature-gates).
struct GateDefault {
  std::string_view name;
  int on_since;
};
constexpr GateDefault kDefaults[] = {
    {"DynamicResourceAllocation", 34},
    {"ResourceHealthStatus", 36},
    {"ResourceHealthStatusMessage", 36},
    {"DRADeviceTaints", 36},
};

// The explicit setting, else the version's default; nullopt when neither is known.
std::optional<bool> IsOn(const Gates& gates, std::string_view name,
                         const std::optional<KubernetesVersion>& version) {
  if (const auto it = gates.values.find(std::string(name)); it != gates.values.end()) {
    return it->second;
  }
  if (gates.complete || !version) return std::nullopt;
  for (const GateDefault& gate : kDefaults) {
    if (gate.name == name) return version->minor >= gate.on_since;
  }
  return std::nullopt;
}

// Only a gate that was read as off is a finding; one that is not mentioned is unknown.
Outcome JudgeGate(const Seen<Gates>& gates, std::string_view name, Level when_off,
                  const std::optional<KubernetesVersion>& version) {
  if (!gates.ok()) return Unknown(gates.status());
  const std::optional<bool> on = IsOn(*gates, name, version);
  // A gate goes away some versions after its feature has become a fixed part.
  if (!on) return Unknown(fmt::format("{} says nothing of {}", gates->source, name));
  std::string text = fmt::format("{} is {}, by {}", name, *on ? "on" : "off", gates->source);
  return *on ? Healthy(std::move(text)) : Outcome{when_off, std::move(text)};
}

Outcome OfKubelet(const Observations& seen, std::string_view name, Level when_off) {
  return JudgeGate(seen.kubelet.gates, name, when_off, seen.KubeletVersion());
}

Outcome OfApi(const Observations& seen, std::string_view name, Level when_off) {
  return JudgeGate(seen.api.gates, name, when_off,
                   seen.api.version.ok() ? std::optional(*seen.api.version) : std::nullopt);
}

// A kubelet of 1.37 does not start with it off; on an older one somebody may have switched it off.
Outcome JudgeDra(const Observations& seen) {
  return OfKubelet(seen, "DynamicResourceAllocation", Level::kBad);
}
// Both sides must have it on: the kubelet writes the field, the API server keeps it.
Outcome JudgeKubeletHealth(const Observations& seen) {
  return OfKubelet(seen, "ResourceHealthStatus", Level::kWarning);
}
Outcome JudgeApiHealth(const Observations& seen) {
  return OfApi(seen, "ResourceHealthStatus", Level::kWarning);
}
// Needs the gate before it.
Outcome JudgeMessage(const Observations& seen) {
  return OfKubelet(seen, "ResourceHealthStatusMessage", Level::kWarning);
}
Outcome JudgeApiMessage(const Observations& seen) {
  return OfApi(seen, "ResourceHealthStatusMessage", Level::kWarning);
}
// The API server drops the field where it is off; drivers go on without noticing.
Outcome JudgeTaints(const Observations& seen) {
  return OfApi(seen, "DRADeviceTaints", Level::kWarning);
}

constexpr std::string_view kOursStays =
    "The Pod's own allocatedResourcesStatus stays empty. Galen's condition and annotation do not "
    "need it.";

}  // namespace

std::vector<Check> GateChecks() {
  return {
      {"gates.dra", Level::kBad, "The kubelet's gate DynamicResourceAllocation is on",
       "The kubelet registers no DRA driver and prepares no claim.",
       "Remove DynamicResourceAllocation: false from the kubelet's featureGates and restart it.",
       JudgeDra},
      {"gates.health", Level::kWarning, "The kubelet's gate ResourceHealthStatus is on", kOursStays,
       "Set ResourceHealthStatus: true in the kubelet's featureGates and restart it.",
       JudgeKubeletHealth},
      // pkg/api/pod/util.go: what a kubelet writes is dropped.
      {"gates.health-api", Level::kWarning, "The API server's gate ResourceHealthStatus is on",
       kOursStays, "Start the API server with --feature-gates=ResourceHealthStatus=true.",
       JudgeApiHealth},
      {"gates.message", Level::kWarning, "The kubelet's gate ResourceHealthStatusMessage is on",
       "The Pod's own status says Unhealthy without the reason.",
       "Set ResourceHealthStatusMessage: true in the kubelet's featureGates and restart it.",
       JudgeMessage},
      {"gates.message-api", Level::kWarning,
       "The API server's gate ResourceHealthStatusMessage is on",
       "The Pod's own status says Unhealthy without the reason.",
       "Start the API server with --feature-gates=ResourceHealthStatusMessage=true.",
       JudgeApiMessage},
      {"gates.taints", Level::kWarning, "The API server's gate DRADeviceTaints is on",
       "Taints that drivers put on broken devices are dropped: new Pods get such devices.",
       "Start the API server and the scheduler with --feature-gates=DRADeviceTaints=true.",
       JudgeTaints},
  };
}

}  // namespace galen::doctor
