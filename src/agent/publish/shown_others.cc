#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "agent/publish/pod_status.h"

namespace galen::agent {
namespace {

// What stands between two findings of an annotation, and in none of them.
constexpr std::string_view kBetweenFindings = "; ";

// "gpu-3 Unhealthy since 2026-11-21T14:02:11Z: XID 79: …", as annotation and condition have it, of
// a device that has this name; nullopt for any other text.
std::optional<DeviceHealth> ReadShownFinding(std::string_view text) {
  const std::size_t colon = text.find(": ");
  std::istringstream head{std::string(text.substr(0, colon))};
  DeviceHealth finding;
  std::string state, word;
  head >> finding.id.device >> state;
  const std::optional<HealthState> known = ParseHealthState(state);
  if (!known) return std::nullopt;
  finding.state = *known;
  if (finding.state == HealthState::kDegraded && !(head >> finding.share)) return std::nullopt;
  if (head >> word) {
    std::string time;
    head >> time;
    const StatusOr<WallTime> since = ParseRfc3339(time);
    if (word != "since" || !since.ok()) return std::nullopt;
    finding.since = *since;
  }
  if (head >> word) return std::nullopt;
  if (colon != text.npos) finding.cause.message = text.substr(colon + 2);
  return finding;
}

// "and 3 more" at the end of an annotation; 0 for any other text.
std::size_t ReadCount(const std::string& piece) {
  std::size_t count = 0;
  std::istringstream words(piece);
  std::string first, last, rest;
  words >> first >> count >> last;
  return first == "and" && last == "more" && !(words >> rest) ? count : 0;
}

// The one that devices of plugins are taken to be of, so that they stand where they stood; a Pod
// seldom asks for several.
std::string PluginResourceOf(const kube::Pod& pod) {
  for (const kube::Container& container : pod.containers) {
    for (const std::string& resource : container.resources) {
      if (kube::WantsPluginDevice(pod, container.name, resource)) return resource;
    }
  }
  return "";
}

// An annotation has no codes, and a cut sentence: the condition says more of the one it names.
void TakeFromCondition(const kube::PodCondition& condition, DeviceHealth& finding) {
  std::optional<DeviceHealth> named = ReadShownFinding(condition.message);
  if (named && named->id.device == finding.id.device) {
    named->id = finding.id;
    finding = *std::move(named);
    finding.cause.code = condition.reason;
  } else {
    finding.cause.code = cause_code::kReported;
  }
}

}  // namespace

ShownOthers ShownOthersOf(const kube::Pod& pod, const std::vector<HeldDevice>& held) {
  std::set<DeviceId> hidden;  // of those held
  for (const HeldDevice& one : held) hidden.insert(one.device);
  ShownOthers others;
  bool is_other = false;  // the last finding's device
  std::string_view rest = pod.devices_annotation;
  while (!rest.empty()) {
    const std::size_t end = rest.find(kBetweenFindings);
    const std::string piece(rest.substr(0, end));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + kBetweenFindings.size());
    if (rest.empty() && (others.counted = ReadCount(piece)) > 0) break;
    std::optional<DeviceHealth> finding = ReadShownFinding(piece);
    if (!finding) {
      // Agents before this one left a semicolon in a driver's sentence.
      if (is_other) others.findings.back().cause.message += ", " + piece;
      continue;
    }
    const std::string& name = finding->id.device;
    is_other = std::erase_if(hidden, [&](const DeviceId& id) {
                 return id.device == name || ToString(id) == name;
               }) == 0;
    if (is_other) others.findings.push_back(*std::move(finding));
  }
  others.counted -= std::min(others.counted, hidden.size());
  const kube::PodCondition* shown = kube::FindDevicesCondition(pod);
  const kube::PodCondition condition = shown == nullptr ? kube::PodCondition() : *shown;
  others.condition = {condition.status, condition.reason, condition.message};
  const std::string resource = PluginResourceOf(pod);
  for (DeviceHealth& finding : others.findings) {
    finding.id.driver = resource;
    finding.id.pool = pod.node;
    TakeFromCondition(condition, finding);
  }
  return others;
}

}  // namespace galen::agent
