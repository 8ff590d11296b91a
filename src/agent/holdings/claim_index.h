// Who holds which device, by claims and by device plugins: device → Pods, and Pod → devices with
// the containers that see them. Kept up to date by a call for each Pod or claim that changed; looks
// the rest up in the view, which outlives it. A Pod that has ended takes late news of what it held,
// although its claims are taken away as soon as it ends: its devices stay until LetGo, or until the
// Pod is gone. Belongs to the agent's loop. Lookups never fail: an unknown device has no Pods.
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
  // "driver/pool/device"; of a device plugin's its own id of the device.
  std::string resource_id = {};
  std::vector<ContainerUse> uses = {};  // none: no container references the claim
  bool admin_access = false;            // beside whoever works on it: a monitor, say

  bool operator==(const HeldDevice&) const = default;
};

// The ResourceClaim objects that `pod` names, as far as they are made: named ones, those made from
// templates (by the Pod's status), and the one of its extended resources. Pure.
std::vector<ObjectKey> ClaimKeysOf(const kube::Pod& pod);
// The kind of the Pod's container of that name; kMain where it has none.
kube::Container::Kind KindOf(const kube::Pod& pod, const std::string& container);
// Whether it ran and never will again.
bool HasEnded(const kube::Pod& pod);
// When the last of its containers ended; nullopt when none says. Of a Pod that has ended.
std::optional<WallTime> EndOf(const kube::Pod& pod);
// Most drivers give no time of a sign, and see a fault some seconds after the process that died of
// it: so long after a Pod's end what happens to its device is still of it, unless another has it.
inline constexpr Duration kSeenWithin = std::chrono::seconds(10);
// Whether what happened at `time` may be of a Pod that ended at `end`: the API gives ends in whole
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
  // A Pod holds at most this many devices for us: 256 claims of 32 results would be absurd.
  static constexpr std::size_t kDevicesPerPodMax = 512;

  // What a Pod has of device plugins and is to be shown; at most as many as kDevicesPerPodMax.
  using PluginDevicesOf = std::function<std::vector<HeldDevice>(const kube::Pod&)>;

  ClaimIndex(const NodeView& view, const PreparedDevices& prepared,
             PluginDevicesOf plugin_devices_of = nullptr)
      : view_(view), prepared_(prepared), plugin_devices_of_(std::move(plugin_devices_of)) {}

  // The view's Pod of that name is new, different or gone. Names the Pods to look at again: that
  // Pod, even if it holds nothing.
  std::vector<ObjectKey> PodChanged(const ObjectKey& pod);
  // The same for a claim: the Pods that name it, none when nobody does.
  std::vector<ObjectKey> ClaimChanged(const ObjectKey& claim);

  // A Pod that has ended takes no news any more.
  std::vector<ObjectKey> LetGo(const ObjectKey& pod);

  // Pods that have not ended and hold the device, in order of name.
  std::vector<ObjectKey> PodsOf(const DeviceId& device) const;
  // These, and those that held it when they ended.
  std::vector<ObjectKey> PodsToNotify(const DeviceId& device) const;
  // Whether no other Pod is among these or has worked on the device since, if only for a moment.
  // Those that only look at it (admin access) do not count.
  bool IsOnlyOf(const ObjectKey& pod, const DeviceId& device) const;
  // For a Pod that has ended also what it held. Empty for a Pod that is not known or holds none.
  // The reference holds until the Pod or one of its claims changes.
  const std::vector<HeldDevice>& DevicesOf(const ObjectKey& pod) const;
  // Every device that some Pod of this node holds.
  std::vector<DeviceId> HeldDevices() const;
  // Pods with claims, whether these are allocated or not, and with devices of plugins.
  std::size_t pods() const { return pods_.size(); }

 private:
  // What is known of one Pod, kept so that it can be taken out again when the Pod or claim is
  // another by then.
  struct Holder {
    std::string uid;  // of the Pod
    bool ended = false;
    bool let_go = false;
    std::vector<HeldDevice> devices;
    // Taken from it. It matters once the Pod ends, which may be seen a little later than that
    // its claim was taken.
    std::vector<HeldDevice> taken;
    std::set<ObjectKey> claims;  // that it names, whether they exist or not
  };

  Holder Drop(const ObjectKey& pod);
  void Add(const kube::Pod& pod, Holder before);
  // To be called when the Pod of that UID, which had these devices, changed. If it was the last
  // that was seen to work on one of them, another that still does takes its place in
  // last_of_device_; a device that nobody has any more is forgotten there.
  void HandOn(const std::string& uid, const std::vector<HeldDevice>& devices);
  // Takes out what came to the Pod by a later allocation of its group's claim.
  void DropGained(const kube::Pod& pod, const Holder& before,
                  std::vector<HeldDevice>& devices) const;
  static std::vector<HeldDevice> TakenFrom(Holder before, const std::vector<HeldDevice>& present);

  const NodeView& view_;
  const PreparedDevices& prepared_;
  const PluginDevicesOf plugin_devices_of_;
  std::map<ObjectKey, Holder> pods_;
  std::map<DeviceId, std::set<ObjectKey>> pods_of_device_;
  // UID of the Pod that was last seen to work on a device. It may be gone already, while a Pod that
  // ended before it got the device is still listed.
  std::map<DeviceId, std::string> last_of_device_;
  // By claims that are named, not only those that exist: a claim that is made later finds its Pods.
  std::map<ObjectKey, std::set<ObjectKey>> pods_of_claim_;
};

}  // namespace galen::agent
