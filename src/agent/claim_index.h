// Who holds which device: device → Pods, and Pod → devices with the containers that see them.
// Kept up to date by being told which Pod or claim changed; looks the rest up in the view.
// Belongs to the agent's loop. Lookups never fail: an unknown device has no Pods.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_view.h"

namespace galen::agent {

// A container that sees a device, and the name under which its status lists it.
struct ContainerUse {
  std::string container;
  kube::Container::Kind kind = kube::Container::Kind::kMain;
  std::string entry;  // "claim:gpu", "claim:gpu/main"

  auto operator<=>(const ContainerUse&) const = default;
};

// A device that a Pod holds through one claim.
struct HeldDevice {
  DeviceId device;
  std::string share_id;
  std::string claim;  // the ResourceClaim object's name
  std::string claim_uid;
  std::string request;  // without its "/sub"
  std::string resource_id;
  std::vector<ContainerUse> uses;  // none: no container references the claim

  bool operator==(const HeldDevice&) const = default;
};

// The ResourceClaim objects that `pod` names, as far as they are made. Pure.
std::vector<ObjectKey> ClaimKeysOf(const kube::Pod& pod);
// Whether `claim` is allocated, and to `pod`.
bool IsHeldBy(const Claim& claim, const kube::Pod& pod);

// The devices of `pod` by what the view knows now, in order of device and claim. Pure.
std::vector<HeldDevice> DevicesOf(const kube::Pod& pod, const ClusterView& view,
                                  const PreparedDevices& prepared);

class ClaimIndex {
 public:
  // A Pod holds at most this many devices for us: 256 claims of 32 results would be absurd.
  static constexpr std::size_t kDevicesPerPodMax = 512;

  ClaimIndex(const ClusterView& view, const PreparedDevices& prepared)
      : view_(view), prepared_(prepared) {}

  // The view's Pod of that name is new, different or gone. Names the Pods to look at again.
  std::vector<ObjectKey> PodChanged(const ObjectKey& pod);
  std::vector<ObjectKey> ClaimChanged(const ObjectKey& claim);

  std::vector<ObjectKey> PodsOf(const DeviceId& device) const;
  const std::vector<HeldDevice>& DevicesOf(const ObjectKey& pod) const;
  // Every device that some Pod of this node holds.
  std::vector<DeviceId> HeldDevices() const;
  std::size_t pods() const { return pods_.size(); }

 private:
  struct Holder {
    std::vector<HeldDevice> devices;
    std::set<ObjectKey> claims;  // that it names, whether they exist or not
  };

  void Drop(const ObjectKey& pod);
  void Add(const kube::Pod& pod);

  const ClusterView& view_;
  const PreparedDevices& prepared_;
  std::map<ObjectKey, Holder> pods_;
  std::map<DeviceId, std::set<ObjectKey>> pods_of_device_;
  std::map<ObjectKey, std::set<ObjectKey>> pods_of_claim_;
};

}  // namespace galen::agent
