// Who holds which device: claims, what was allocated to them, and the Pods they are reserved for.
// Plain values with no owner and no thread. They hold what the API server said last, decoded by
// `kube`; nothing here checks that an object still exists. Equality is by all members, order by
// members in turn, so that they can be keys of maps.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.h"

namespace galen {

// Claims of one node: 256 fill a large one.
inline constexpr std::size_t kNodeClaimsMax = 4096;

// A namespaced object's name. Not its identity: an object that was deleted and made again has the
// same key and another uid.
struct ObjectKey {
  std::string ns;  // "" for an object of the whole cluster, such as a Node
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

std::string ToString(const ObjectKey& key);  // "ns/name"; "name" when ns is empty

// One Pod, not merely one of that name. A StatefulSet's Pod that is replaced keeps its key; what
// was said of the old one must not be written on the new one.
struct PodRef {
  ObjectKey key;
  // metadata.uid; "" where only the name is known, which then equals no Pod of the API server's.
  std::string uid;

  auto operator<=>(const PodRef&) const = default;
};

// One result of status.allocation.devices.results (resource.k8s.io/v1). A device may be in several
// results, of one claim or of several: with admin access it is shared with its ordinary holder,
// with consumable capacity each share is a result of its own.
struct AllocatedDevice {
  std::string request;  // "main", or "main/sub" for a prioritized list
  DeviceId device;
  std::string share_id;  // "" unless the device's capacity is shared out
  bool admin_access = false;

  auto operator<=>(const AllocatedDevice&) const = default;
};

// The part of a request before its "/sub": what containers (resources.claims[].request) and drivers
// (Device.request_names) name it by. A request without "/" is given back whole. The view points
// into `request`.
std::string_view BaseRequest(std::string_view request);

// A ResourceClaim as far as health is concerned: which devices it holds, and who may use them.
struct Claim {
  ObjectKey key;
  std::string uid;
  std::vector<AllocatedDevice> devices;  // empty: not allocated
  // status.allocation.allocationTimestamp as the API wrote it; "" before Kubernetes 1.34. The UID
  // stays when a claim is freed and allocated anew, this does not.
  std::string allocated_at{};
  // status.reservedFor: Pods, and the names of PodGroups in the claim's namespace (KEP-5729), whose
  // members it does not list. At most 256 of both by the API's limit.
  std::vector<PodRef> reserved_for;
  std::vector<std::string> reserved_for_groups;

  // Whether a kubelet lets a Pod use the claim: by the Pod's uid, or by its PodGroup ("": it has
  // none).
  bool IsReservedFor(std::string_view pod_uid, std::string_view group) const;

  // Whether the device is allocated to the claim.
  bool Holds(const DeviceId& device) const;

  bool operator==(const Claim&) const = default;
};

}  // namespace galen
