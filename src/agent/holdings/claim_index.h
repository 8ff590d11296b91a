// Who holds which device, by claims and by device plugins: device → Pods, and Pod → devices with
// the containers that see them. Kept up to date by a call for each Pod or claim that changed; looks
// the rest up in the view, which outlives it. A Pod's claims are freed when it ends; its devices
// stay here until LetGo() or its removal, so that a fault reported late still reaches it. Belongs
// to the agent's loop. Lookups never fail: an unknown device has no Pods.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/holdings/node_view.h"

namespace galen::agent {

// A container that sees a device, and the name under which its status lists it.
struct ContainerUse {
  // Name and kind of the container; `entry` is ResourceStatus.name, which Kubernetes checks against
  // what the container wrote (KEP-4680).
  std::string container;
  kube::Container::Kind kind = kube::Container::Kind::kMain;
  std::string entry;  // "claim:gpu", "claim:gpu/main", "nvidia.com/gpu"

  auto operator<=>(const ContainerUse&) const = default;
};

// A device that a Pod holds through one claim, or that a device plugin gave it. Two shares of a
// device, or two claims on it, are two of these.
struct HeldDevice {
  DeviceId device;
  std::string share_id = {};
  std::string claim = {};  // the ResourceClaim object's name; "" for a device plugin's
  std::string claim_uid = {};
  std::string request = {};  // without its "/sub"
  // The extended resource of a device plugin's device: "nvidia.com/gpu"; else "".
  std::string resource = {};
  // What the kubelet would write as resourceID: the first CDI id of the device, else
  // "driver/pool/device"; for a device plugin's device, the plugin's own id.
  std::string resource_id = {};
  std::vector<ContainerUse> uses = {};  // none: no container references the claim
  // access for monitoring, beside the Pod that uses the device
  bool admin_access = false;

  bool operator==(const HeldDevice&) const = default;
};

// The ResourceClaim objects that `pod` names, as far as they exist: named ones, those made from
// templates (by the Pod's status), and the one of its extended resources. Pure.
std::vector<ObjectKey> ClaimKeysOf(const kube::Pod& pod);
// The kind of the Pod's container of that name; kMain where it has none.
kube::Container::Kind KindOf(const kube::Pod& pod, const std::string& container);
// Whether the Pod ran and never will again.
bool HasEnded(const kube::Pod& pod);
// When the last container of an ended Pod ended; nullopt when no container says.
std::optional<WallTime> EndOf(const kube::Pod& pod);
// Most drivers give no time of a sign, and notice a fault some seconds after the process that it
// ended. So a fault this long after a Pod's end still counts as that Pod's, unless another Pod has
// the device.
inline constexpr Duration kSeenWithin = std::chrono::seconds(10);
// Whether a fault at `time` may belong to a Pod that ended at `end`: the API gives ends in whole
// seconds, rounded down. `is_only_its`: no other Pod has had the device since.
bool IsUntilEnd(WallTime time, WallTime end, bool is_only_its = false);
// Whether `claim` is allocated, and to the Pod: reserved for its uid or for its group ("" for
// none).
bool IsHeldBy(const Claim& claim, const std::string& pod_uid, const std::string& group);

// The devices of `pod` by what the view knows now, in order of device and claim; at most
// ClaimIndex::kDevicesPerPodMax. Pure.
std::vector<HeldDevice> DevicesOf(const kube::Pod& pod, const NodeView& view,
                                  const PreparedDevices& prepared);

class ClaimIndex {
 public:
  // The most devices of one Pod that are kept: 256 claims of 32 results would be absurd.
  static constexpr std::size_t kDevicesPerPodMax = 512;

  // The devices of device plugins that the Pod has and shows; at most kDevicesPerPodMax.
  using PluginDevicesOf = std::function<std::vector<HeldDevice>(const kube::Pod&)>;

  ClaimIndex(const NodeView& view, const PreparedDevices& prepared,
             PluginDevicesOf plugin_devices_of = nullptr)
      : view_(view), prepared_(prepared), plugin_devices_of_(std::move(plugin_devices_of)) {}

  // The view's Pod of that name is new, different or gone. Names the Pods to look at again: that
  // Pod, even if it holds nothing.
  std::vector<ObjectKey> PodChanged(const ObjectKey& pod);
  // The same for a claim: the Pods that name it, none when nobody does.
  std::vector<ObjectKey> ClaimChanged(const ObjectKey& claim);

  // An ended Pod gets no more late faults.
  std::vector<ObjectKey> LetGo(const ObjectKey& pod);

  // Pods that have not ended and hold the device, in order of name.
  std::vector<ObjectKey> PodsOf(const DeviceId& device) const;
  // Pods that hold the device, or held it when they ended, in order of name.
  std::vector<ObjectKey> PodsToNotify(const DeviceId& device) const;
  // Whether only this Pod is among those, and no other has worked on the device since, however
  // shortly. Pods with admin access do not count.
  bool IsOnlyOf(const ObjectKey& pod, const DeviceId& device) const;
  // Includes what an ended Pod held. Empty for a Pod that is not known or holds none. The reference
  // holds until the Pod or one of its claims changes.
  const std::vector<HeldDevice>& DevicesOf(const ObjectKey& pod) const;
  // Every device that some Pod of this node holds.
  std::vector<DeviceId> HeldDevices() const;
  // Pods with claims, whether these are allocated or not, and with devices of plugins.
  std::size_t pods() const { return pods_.size(); }

 private:
  // What is known of one Pod, kept so that it can be removed again after the Pod or claim has
  // changed.
  struct Holder {
    std::string uid;  // of the Pod
    bool ended = false;
    bool let_go = false;
    std::vector<HeldDevice> devices;
    // Devices that were taken from it. They matter once the Pod ends, which may be seen a little
    // later than that its claim was freed.
    std::vector<HeldDevice> taken;
    std::set<ObjectKey> claims;  // that it names, existing or not
  };

  Holder Drop(const ObjectKey& pod);
  void Add(const kube::Pod& pod, Holder before);
  // To be called when the Pod of that UID, which had these devices, changed. If it was the last Pod
  // that worked on one of them, another that still does takes its place in last_of_device_; a
  // device that no Pod has any more is dropped there.
  void HandOn(const std::string& uid, const std::vector<HeldDevice>& devices);
  // Removes what the Pod seems to hold only by a later allocation of its group's claim.
  void DropGained(const kube::Pod& pod, const Holder& before,
                  std::vector<HeldDevice>& devices) const;
  static std::vector<HeldDevice> TakenFrom(Holder before, const std::vector<HeldDevice>& present);

  const NodeView& view_;
  const PreparedDevices& prepared_;
  const PluginDevicesOf plugin_devices_of_;
  std::map<ObjectKey, Holder> pods_;
  std::map<DeviceId, std::set<ObjectKey>> pods_of_device_;
  // UID of the Pod that was last seen to work on a device. It may be gone already while a Pod that
  // ended earlier is still listed.
  std::map<DeviceId, std::string> last_of_device_;
  // By claims that are named, not only those that exist: a claim that is created later finds its
  // Pods.
  std::map<ObjectKey, std::set<ObjectKey>> pods_of_claim_;
};

}  // namespace galen::agent
