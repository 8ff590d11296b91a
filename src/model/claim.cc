#include "model/claim.h"

#include <algorithm>

namespace galen {

std::string ToString(const ObjectKey& key) {
  return key.ns.empty() ? key.name : fmt::format("{}/{}", key.ns, key.name);
}

// A name has no "/" of its own, being a DNS label, so the first one begins the sub-request.
std::string_view BaseRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

bool Claim::Holds(const DeviceId& device) const {
  return std::ranges::find(devices, device, &AllocatedDevice::device) != devices.end();
}

bool Claim::IsReservedFor(std::string_view pod_uid, std::string_view group) const {
  if (std::ranges::any_of(reserved_for, [&](const PodRef& pod) { return pod.uid == pod_uid; })) {
    return true;
  }
  return !group.empty() &&
         std::ranges::find(reserved_for_groups, group) != reserved_for_groups.end();
}

}  // namespace galen
