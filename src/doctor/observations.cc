#include "doctor/observations.h"

#include <algorithm>
#include <charconv>

namespace galen::doctor {

bool PluginInfo::Offers(std::string_view version) const {
  return std::find(versions.begin(), versions.end(), version) != versions.end();
}

const std::string& RegistryEntry::endpoint() const {
  return info.ok() && !info->endpoint.empty() ? info->endpoint : path;
}

bool RegistryEntry::is_driver() const { return info.ok() && info->type == "DRAPlugin"; }

std::optional<KubernetesVersion> ParseVersion(const std::string& text) {
  KubernetesVersion version{.text = text};
  const char* at = text.data() + (text.starts_with('v') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(at, end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc()) return std::nullopt;
  return version;
}

bool PodSeen::holds_devices() const { return !pod.claims.empty() || !pod.extended_claim.empty(); }

std::string PodSeen::DaemonSet() const {
  for (const kube::OwnerReference& owner : pod.meta.owners) {
    if (owner.controller && owner.kind == "DaemonSet") return pod.meta.key.ns + "/" + owner.name;
  }
  return "";
}

WallTime Observations::ApiNow() const { return api.clock.ok() ? when - api.clock->ahead : when; }

std::optional<KubernetesVersion> Observations::KubeletVersion() const {
  return api.node.ok() ? ParseVersion(api.node->kubelet_version) : std::nullopt;
}

std::vector<const RegistryEntry*> Observations::Drivers() const {
  std::vector<const RegistryEntry*> drivers;
  if (!registry.ok()) return drivers;
  for (const RegistryEntry& entry : *registry) {
    if (entry.is_driver()) drivers.push_back(&entry);
  }
  return drivers;
}

Status Observations::AllAnswered() const {
  if (!registry.ok()) return registry.status();
  for (const RegistryEntry& entry : *registry) {
    if (entry.info.status().code() != Code::kDeadlineExceeded) continue;
    return Annotate(entry.info.status(), "{}", entry.path);
  }
  return OkStatus();
}

std::set<std::string> Observations::LiveDrivers() const {
  std::set<std::string> names;
  for (const RegistryEntry* driver : Drivers()) {
    if (driver->endpoint_listens.ok()) names.insert(driver->info->name);
  }
  return names;
}

}  // namespace galen::doctor
