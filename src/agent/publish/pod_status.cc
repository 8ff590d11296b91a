#include "agent/publish/pod_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace galen::agent {
namespace {

constexpr std::string_view kAllHealthy = "AllHealthy";
// Room for "; and 4096 more".
constexpr std::size_t kCountBytesMax = 16;

// A name that is unique on this Pod is enough for a person.
std::string NameOf(const DeviceId& id, const std::map<std::string, int>& uses_of_name) {
  return uses_of_name.at(id.device) == 1 ? id.device : ToString(id);
}

std::string PieceOf(const DeviceHealth& health, const std::map<std::string, int>& uses_of_name) {
  std::string sentence = Sentence(health);
  for (std::size_t at = 0; (at = sentence.find("; ", at)) != sentence.npos;) sentence[at] = ',';
  // One long sentence must not push all other devices out.
  return CutText(NameOf(health.id, uses_of_name) + " " + sentence, kCauseMessageBytesMax + 160);
}

kube::ResourceHealth ResourceOf(const HeldDevice& held, const DeviceHealth& health,
                                DegradedAs degraded) {
  return {.resource_id = held.resource_id,
          .health = std::string(KubernetesHealth(health.state, degraded)),
          // An empty message is left out when it is written: the API server refuses an empty one.
          .message = CutText(health.cause.message, kStatusMessageBytesMax)};
}

// Kubernetes refuses two resources with one id in an entry, and shares of a device have the same
// id: the worst health counts.
using Entries =
    std::map<std::string, std::map<std::string, std::pair<DeviceHealth, kube::ResourceHealth>>>;

void Put(Entries& entries, const std::string& entry, const DeviceHealth& health,
         kube::ResourceHealth resource) {
  auto& resources = entries[entry];
  const auto it = resources.find(resource.resource_id);
  if (it != resources.end() && !WorseFirst(health, it->second.first)) return;
  resources.insert_or_assign(resource.resource_id, std::pair(health, resource));
}

std::vector<kube::ResourceStatus> ListOf(const Entries& entries) {
  std::vector<kube::ResourceStatus> list;
  for (const auto& [name, resources] : entries) {
    kube::ResourceStatus status{.name = name, .resources = {}};
    for (const auto& [id, item] : resources) status.resources.push_back(item.second);
    list.push_back(std::move(status));
  }
  return list;
}

// How bad a condition's status is.
int RankOf(const WantedCondition& condition) {
  if (condition.status == "False") return 2;
  return condition.status == "Unknown" ? 1 : 0;
}

// The status of an ephemeral container must not list resources.
bool MayListResources(kube::Container::Kind kind) {
  return kind != kube::Container::Kind::kEphemeral;
}

}  // namespace

std::vector<DeviceHealth> FindingsOf(const std::vector<HeldDevice>& devices,
                                     const HealthOf& health_of) {
  std::set<DeviceId> ids;
  for (const HeldDevice& held : devices) ids.insert(held.device);
  std::vector<DeviceHealth> findings;
  for (const DeviceId& id : ids) findings.push_back(health_of(id));
  std::sort(findings.begin(), findings.end(), WorseFirst);
  return findings;
}

std::string AnnotationOf(const std::vector<DeviceHealth>& findings, std::size_t more) {
  std::map<std::string, int> uses_of_name;
  for (const DeviceHealth& health : findings) ++uses_of_name[health.id.device];
  std::string text;
  std::size_t listed = 0;
  for (const DeviceHealth& health : findings) {
    const std::string piece = PieceOf(health, uses_of_name);
    const bool last = listed + 1 == findings.size() && more == 0;
    // The last piece needs no room for a count behind it.
    const std::size_t room = kAnnotationBytesMax - (last ? 0 : kCountBytesMax);
    if (text.size() + 2 + piece.size() > room) break;
    text += (listed++ == 0 ? "" : "; ") + piece;
  }
  more += findings.size() - listed;
  if (more > 0) text += fmt::format("; and {} more", more);
  return text;
}

std::string_view KubernetesHealth(HealthState state, DegradedAs degraded) {
  switch (state) {
    case HealthState::kHealthy:
      return "Healthy";
    case HealthState::kUnknown:
      return "Unknown";
    case HealthState::kDegraded:
      return degraded == DegradedAs::kHealthy ? "Healthy" : "Unhealthy";
    case HealthState::kUnhealthy:
      return "Unhealthy";
  }
  GALEN_UNREACHABLE();
}

WantedCondition ConditionOf(const std::vector<DeviceHealth>& findings, DegradedAs degraded) {
  // The first device with this health in Kubernetes' terms: findings come worst first.
  const auto worst_as = [&](std::string_view health) {
    return std::find_if(findings.begin(), findings.end(), [&](const DeviceHealth& finding) {
      return KubernetesHealth(finding.state, degraded) == health;
    });
  };
  const auto condition = [&](std::string status, const DeviceHealth& finding) {
    const std::string sentence = finding.id.device + " " + Sentence(finding);
    return WantedCondition{std::move(status), finding.cause.code,
                           CutText(sentence, kStatusMessageBytesMax)};
  };
  if (const auto bad = worst_as("Unhealthy"); bad != findings.end())
    return condition("False", *bad);
  if (const auto open = worst_as("Unknown"); open != findings.end()) {
    return condition("Unknown", *open);
  }
  if (!findings.empty() && findings.front().state == HealthState::kDegraded) {
    return condition("True", findings.front());
  }
  return {"True", std::string(kAllHealthy), ""};
}

WantedPodStatus WantedStatusOf(const std::vector<HeldDevice>& devices, const HealthOf& health_of,
                               DegradedAs degraded, const ShownOthers& others) {
  std::vector<DeviceHealth> findings = FindingsOf(devices, health_of);
  GALEN_CHECK(!findings.empty());
  findings.insert(findings.end(), others.findings.begin(), others.findings.end());
  std::sort(findings.begin(), findings.end(), WorseFirst);
  WantedPodStatus wanted{.annotation = AnnotationOf(findings, others.counted),
                         .condition = ConditionOf(findings, degraded)};
  // One of those that are only counted may be what it names.
  if (others.counted > 0 && RankOf(others.condition) > RankOf(wanted.condition)) {
    wanted.condition = others.condition;
  }
  std::map<std::string, Entries> main, init;
  for (const HeldDevice& held : devices) {
    const DeviceHealth health = health_of(held.device);
    for (const ContainerUse& use : held.uses) {
      if (!MayListResources(use.kind)) continue;
      auto& containers = use.kind == kube::Container::Kind::kMain ? main : init;
      Put(containers[use.container], use.entry, health, ResourceOf(held, health, degraded));
    }
  }
  for (const auto& [container, entries] : main) wanted.main[container] = ListOf(entries);
  for (const auto& [container, entries] : init) wanted.init[container] = ListOf(entries);
  return wanted;
}

}  // namespace galen::agent
