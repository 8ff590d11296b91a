#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/fleet/fleet.h"

namespace galen::cli {
namespace {

constexpr std::string_view kClaimPrefix = "claim:";

// The meaning of an entry's name; nullopt when it is about another claim or no claim.
struct EntryRequest {
  std::string_view request;  // "" = all of the claim
};
std::optional<EntryRequest> RequestOf(const kube::Pod& pod, const Claim& claim,
                                      std::string_view entry) {
  if (!entry.starts_with(kClaimPrefix)) return std::nullopt;
  entry.remove_prefix(kClaimPrefix.size());
  const std::size_t slash = std::min(entry.find('/'), entry.size());
  const std::string_view pod_claim = entry.substr(0, slash);
  // Extended resources backed by DRA name the object itself.
  const bool extended = !pod.extended_claim.empty() && pod_claim == pod.extended_claim;
  const std::optional<std::string> object =
      extended ? pod.extended_claim : kube::ClaimObjectName(pod, pod_claim);
  if (object != claim.key.name) return std::nullopt;
  return EntryRequest{entry.substr(std::min(slash + 1, entry.size()))};
}

// Whether the id ends in the device's name, not only a part of it: "…=uid-gpu-1" does not end in
// "pu-1".
bool EndsIn(std::string_view id, std::string_view name) {
  if (!id.ends_with(name) || name.empty()) return false;
  if (id.size() == name.size()) return true;
  return !std::isalnum(static_cast<unsigned char>(id[id.size() - name.size() - 1]));
}

// The allocated device that `id` names: the longest matching name ("gpu-1" before "1"); of two
// drivers' devices of one name, the one whose driver is the id's vendor.
const AllocatedDevice* Meant(std::string_view id, const std::vector<AllocatedDevice>& devices) {
  const AllocatedDevice* meant = nullptr;
  bool several = false;
  const auto rank = [&](const AllocatedDevice& device) {
    const bool vendor = id.starts_with(device.device.driver + "/");
    return std::pair(device.device.device.size(), vendor);
  };
  for (const AllocatedDevice& device : devices) {
    if (id == ToString(device.device)) return &device;
    if (!EndsIn(id, device.device.device)) continue;
    if (meant != nullptr && rank(device) < rank(*meant)) continue;
    several = meant != nullptr && rank(device) == rank(*meant) && device.device != meant->device;
    meant = &device;
  }
  return several ? nullptr : meant;
}

const kube::ResourceHealth* MatchIn(const kube::ResourceStatus& entry, std::string_view request,
                                    const Claim& claim, const DeviceId& device) {
  std::vector<AllocatedDevice> devices;
  for (const AllocatedDevice& allocated : claim.devices) {
    if (request.empty() || BaseRequest(allocated.request) == request) devices.push_back(allocated);
  }
  if (devices.size() == 1 && entry.resources.size() == 1) {
    return devices[0].device == device ? &entry.resources[0] : nullptr;
  }
  for (const kube::ResourceHealth& health : entry.resources) {
    const AllocatedDevice* meant = Meant(health.resource_id, devices);
    if (meant != nullptr && meant->device == device) return &health;
  }
  return nullptr;
}

}  // namespace

const kube::ResourceHealth* EntryOfDevice(const kube::Pod& pod, const Claim& claim,
                                          const DeviceId& device) {
  for (const auto* statuses : {&pod.statuses, &pod.init_statuses}) {
    for (const kube::ContainerStatus& status : *statuses) {
      for (const kube::ResourceStatus& entry : status.allocated) {
        const auto request = RequestOf(pod, claim, entry.name);
        if (!request) continue;
        if (const auto* health = MatchIn(entry, request->request, claim, device)) return health;
      }
    }
  }
  return nullptr;
}

}  // namespace galen::cli
