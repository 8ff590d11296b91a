#include "agent/holdings/claim_index.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "model/crash_evidence.h"

namespace galen::agent {
namespace {

// A claim that a Pod names, and where each of its containers refers to it.
struct NamedClaim {
  std::string object;    // the ResourceClaim's name
  std::string pod_name;  // the Pod's own name for it; "" for the claim of extended resources
};

std::vector<NamedClaim> ClaimsOf(const kube::Pod& pod) {
  std::vector<NamedClaim> claims;
  for (const kube::PodClaim& claim : pod.claims) {
    if (auto object = ClaimObjectName(pod, claim.name)) {
      claims.push_back({*std::move(object), claim.name});
    }
  }
  if (!pod.extended_claim.empty()) claims.push_back({pod.extended_claim, ""});
  return claims;
}

std::string EntryName(const std::string& claim, const std::string& request) {
  return request.empty() ? "claim:" + claim : "claim:" + claim + "/" + request;
}

std::vector<ContainerUse> OrdinaryUses(const kube::Pod& pod, const NamedClaim& named,
                                       std::string_view request) {
  std::vector<ContainerUse> uses;
  for (const kube::Container& container : pod.containers) {
    for (const kube::ContainerClaim& claim : container.claims) {
      if (claim.name != named.pod_name) continue;
      // A container that names no request sees every device of the claim.
      if (!claim.request.empty() && claim.request != request) continue;
      uses.push_back({container.name, container.kind, EntryName(claim.name, claim.request)});
    }
  }
  return uses;
}

// Containers that asked for an ordinary resource got a claim they never wrote; the status maps
// them.
std::vector<ContainerUse> ExtendedUses(const kube::Pod& pod, const NamedClaim& named,
                                       std::string_view request) {
  std::vector<ContainerUse> uses;
  for (const kube::ExtendedResourceMapping& mapping : pod.extended) {
    if (mapping.request != request) continue;
    uses.push_back({mapping.container, KindOf(pod, mapping.container),
                    // For extended resources Kubernetes wants the claim object's name here, since
                    // the Pod has no name for it (API validation since 1.37).
                    EntryName(named.object, mapping.request)});
  }
  return uses;
}

HeldDevice Hold(const kube::Pod& pod, const NamedClaim& named, const Claim& claim,
                const AllocatedDevice& allocated, const PreparedDevices& prepared) {
  HeldDevice held{.device = allocated.device,
                  .share_id = allocated.share_id,
                  .claim = named.object,
                  .claim_uid = claim.uid,
                  .request = std::string(BaseRequest(allocated.request))};
  held.admin_access = allocated.admin_access;
  held.resource_id = prepared.FirstCdiId(claim.uid, held.device, held.share_id);
  // As the kubelet does for drivers that give no CDI id.
  if (held.resource_id.empty()) held.resource_id = ToString(held.device);
  held.uses = named.pod_name.empty() ? ExtendedUses(pod, named, held.request)
                                     : OrdinaryUses(pod, named, held.request);
  // In an order of our own, so that equal states give equal texts whatever order the API server
  // lists things in.
  std::sort(held.uses.begin(), held.uses.end());
  return held;
}

// When its scheduler gave it its node, by the API server's clock.
std::optional<WallTime> BoundAt(const kube::Pod& pod) {
  for (const kube::PodCondition& condition : pod.conditions) {
    if (condition.type == "PodScheduled" && condition.status == "True") return condition.changed;
  }
  return std::nullopt;
}

// A scheduler binds a Pod only once its claims are allocated (kube-scheduler: PreBind before Bind).
// Both times are whole seconds, from two machines whose clocks may differ a little.
constexpr Duration kClocksApartMost = std::chrono::seconds(2);

bool IsAllocatedAfterBinding(const Claim& claim, const kube::Pod& pod) {
  const std::optional<WallTime> bound = BoundAt(pod);
  const StatusOr<WallTime> allocated = ParseRfc3339(claim.allocated_at);
  return bound && allocated.ok() && *allocated > *bound + kClocksApartMost;
}

// Whether a Pod with these devices works on `d`, and does not only monitor it.
bool WorksOn(const std::vector<HeldDevice>& devices, const DeviceId& device) {
  return std::ranges::any_of(
      devices, [&](const HeldDevice& held) { return held.device == device && !held.admin_access; });
}

auto OrderOf(const HeldDevice& held) {
  return std::tie(held.device, held.share_id, held.claim, held.request, held.uses);
}

}  // namespace

kube::Container::Kind KindOf(const kube::Pod& pod, const std::string& container) {
  for (const kube::Container& candidate : pod.containers) {
    if (candidate.name == container) return candidate.kind;
  }
  return kube::Container::Kind::kMain;
}

bool HasEnded(const kube::Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

std::optional<WallTime> EndOf(const kube::Pod& pod) {
  std::optional<WallTime> end;
  for (const auto* statuses : {&pod.statuses, &pod.init_statuses}) {
    for (const kube::ContainerStatus& status : *statuses) end = std::max(end, status.finished);
  }
  return end;
}

bool IsUntilEnd(WallTime time, WallTime end, bool is_only_its) {
  return time < end + (is_only_its ? kSeenWithin : kEndPrecision);
}

std::vector<ObjectKey> ClaimKeysOf(const kube::Pod& pod) {
  std::vector<ObjectKey> keys;
  for (const NamedClaim& named : ClaimsOf(pod)) keys.push_back({pod.meta.key.ns, named.object});
  return keys;
}

// A claim that is reserved for others is not this Pod's, whatever its name; one that is reserved
// for nobody belongs to nobody, as for the kubelet.
bool IsHeldBy(const Claim& claim, const std::string& pod_uid, const std::string& group) {
  return !claim.devices.empty() && claim.IsReservedFor(pod_uid, group);
}

std::vector<HeldDevice> DevicesOf(const kube::Pod& pod, const NodeView& view,
                                  const PreparedDevices& prepared) {
  std::vector<HeldDevice> devices;
  for (const NamedClaim& named : ClaimsOf(pod)) {
    const Claim* claim = view.FindClaimFor(pod, {pod.meta.key.ns, named.object});
    if (claim == nullptr || !IsHeldBy(*claim, pod.meta.uid, pod.group)) continue;
    for (const AllocatedDevice& allocated : claim->devices) {
      if (devices.size() >= ClaimIndex::kDevicesPerPodMax) return devices;
      devices.push_back(Hold(pod, named, *claim, allocated, prepared));
    }
  }
  std::ranges::sort(devices, {}, OrderOf);
  return devices;
}

std::vector<ObjectKey> ClaimIndex::PodChanged(const ObjectKey& pod) {
  // Removed and added anew: a Pod has too few devices for a comparison to pay.
  Holder before = Drop(pod);
  const std::string uid = before.uid;
  const std::vector<HeldDevice> had = before.devices;
  if (const kube::Pod* present = view_.FindPod(pod)) Add(*present, std::move(before));
  HandOn(uid, had);
  return {pod};
}

std::vector<ObjectKey> ClaimIndex::LetGo(const ObjectKey& pod) {
  const auto it = pods_.find(pod);
  if (it != pods_.end()) it->second.let_go = true;
  return PodChanged(pod);
}

std::vector<ObjectKey> ClaimIndex::ClaimChanged(const ObjectKey& claim) {
  const auto it = pods_of_claim_.find(claim);
  if (it == pods_of_claim_.end()) return {};
  const std::vector<ObjectKey> pods(it->second.begin(), it->second.end());
  // A copy of the names: PodChanged changes the index it comes from.
  for (const ObjectKey& pod : pods) PodChanged(pod);
  return pods;
}

std::vector<ObjectKey> ClaimIndex::PodsOf(const DeviceId& device) const {
  std::vector<ObjectKey> pods = PodsToNotify(device);
  std::erase_if(pods, [&](const ObjectKey& pod) { return pods_.at(pod).ended; });
  return pods;
}

std::vector<ObjectKey> ClaimIndex::PodsToNotify(const DeviceId& device) const {
  const auto it = pods_of_device_.find(device);
  if (it == pods_of_device_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

bool ClaimIndex::IsOnlyOf(const ObjectKey& pod, const DeviceId& device) const {
  const auto own = pods_.find(pod);
  const auto last = last_of_device_.find(device);
  if (own != pods_.end() && last != last_of_device_.end() && last->second != own->second.uid) {
    return false;
  }
  return std::ranges::none_of(PodsToNotify(device), [&](const ObjectKey& other) {
    return other != pod && WorksOn(DevicesOf(other), device);
  });
}

const std::vector<HeldDevice>& ClaimIndex::DevicesOf(const ObjectKey& pod) const {
  static const std::vector<HeldDevice> kNone;
  const auto it = pods_.find(pod);
  return it == pods_.end() ? kNone : it->second.devices;
}

std::vector<DeviceId> ClaimIndex::HeldDevices() const {
  std::vector<DeviceId> devices;
  for (const auto& [device, pods] : pods_of_device_) {
    if (!PodsOf(device).empty()) devices.push_back(device);
  }
  return devices;
}

ClaimIndex::Holder ClaimIndex::Drop(const ObjectKey& pod) {
  auto node = pods_.extract(pod);
  if (!node) return {};
  const auto erase = [&](auto& index, const auto& key) {
    const auto it = index.find(key);
    if (it == index.end()) return;
    it->second.erase(pod);
    if (it->second.empty()) index.erase(it);
  };
  for (const HeldDevice& held : node.mapped().devices) erase(pods_of_device_, held.device);
  for (const ObjectKey& claim : node.mapped().claims) erase(pods_of_claim_, claim);
  return std::move(node.mapped());
}

// Only Pods with claims or with devices of plugins are kept: most Pods of a node hold no device.
void ClaimIndex::Add(const kube::Pod& pod, Holder before) {
  Holder holder{.uid = pod.meta.uid, .ended = HasEnded(pod)};
  for (ObjectKey& claim : ClaimKeysOf(pod)) holder.claims.insert(std::move(claim));
  std::vector<HeldDevice> plugin_devices;
  if (plugin_devices_of_) plugin_devices = plugin_devices_of_(pod);
  if (holder.claims.empty() && plugin_devices.empty()) return;
  holder.let_go = before.uid == holder.uid && before.let_go;
  // The view may still show a claim that an ended Pod has lost: claims of ended Pods are not
  // watched.
  if (!holder.ended || !holder.let_go) {
    holder.devices = agent::DevicesOf(pod, view_, prepared_);
    DropGained(pod, before, holder.devices);
    const std::size_t room = kDevicesPerPodMax - std::min(kDevicesPerPodMax, holder.devices.size());
    if (plugin_devices.size() > room) plugin_devices.resize(room);
    std::ranges::move(plugin_devices, std::back_inserter(holder.devices));
    std::ranges::sort(holder.devices, {}, OrderOf);
    if (before.uid == holder.uid) holder.taken = TakenFrom(std::move(before), holder.devices);
  }
  if (holder.ended) {
    std::ranges::move(std::exchange(holder.taken, {}), std::back_inserter(holder.devices));
    std::ranges::sort(holder.devices, {}, OrderOf);
  }
  for (const HeldDevice& held : holder.devices) {
    pods_of_device_[held.device].insert(pod.meta.key);
    if (!holder.ended && !held.admin_access) last_of_device_[held.device] = holder.uid;
  }
  for (const ObjectKey& claim : holder.claims) pods_of_claim_[claim].insert(pod.meta.key);
  pods_[pod.meta.key] = std::move(holder);
}

void ClaimIndex::HandOn(const std::string& uid, const std::vector<HeldDevice>& devices) {
  for (const HeldDevice& had : devices) {
    const auto last = last_of_device_.find(had.device);
    if (last == last_of_device_.end()) continue;
    const auto pods = pods_of_device_.find(had.device);
    if (pods == pods_of_device_.end()) {
      last_of_device_.erase(last);
      continue;
    }
    if (last->second != uid) continue;
    const auto works = std::ranges::find_if(pods->second, [&](const ObjectKey& key) {
      return !pods_.at(key).ended && WorksOn(pods_.at(key).devices, had.device);
    });
    if (works != pods->second.end()) last->second = pods_.at(*works).uid;
  }
}

// A claim that is reserved only for the Pod's group may have been freed since and allocated anew,
// for others of the group; it would still look like this Pod's. A claim is freed only once its Pods
// have ended, so a Pod that began with the former allocation has ended, whether the view shows that
// yet or not.
void ClaimIndex::DropGained(const kube::Pod& pod, const Holder& before,
                            std::vector<HeldDevice>& devices) const {
  const bool is_known = before.uid == pod.meta.uid;
  const auto had = [&](const auto& is_it) {
    return is_known &&
           (std::ranges::any_of(before.devices, is_it) || std::ranges::any_of(before.taken, is_it));
  };
  std::erase_if(devices, [&](const HeldDevice& held) {
    const Claim* claim = view_.FindClaim({pod.meta.key.ns, held.claim});
    if (claim == nullptr || claim->IsReservedFor(pod.meta.uid, "")) return false;
    // The change may be seen so late that the former allocation was never seen at all.
    if (IsAllocatedAfterBinding(*claim, pod)) return true;
    // A pending Pod may still get the claim's new devices.
    if (pod.phase == "Pending") return false;
    const auto of_claim = [&](const HeldDevice& h) { return h.claim_uid == held.claim_uid; };
    // A running Pod's claim may be read for the first time.
    if (!HasEnded(pod) && !had(of_claim)) return false;
    return !had([&](const HeldDevice& h) {
      return of_claim(h) && h.device == held.device && h.share_id == held.share_id;
    });
  });
}

// What the Pod held before and holds no more, whichever claim gave it.
std::vector<HeldDevice> ClaimIndex::TakenFrom(Holder before,
                                              const std::vector<HeldDevice>& present) {
  std::vector<HeldDevice> taken = std::move(before.devices);
  std::ranges::move(before.taken, std::back_inserter(taken));
  std::erase_if(taken, [&](const HeldDevice& held) {
    return std::ranges::any_of(present, [&](const HeldDevice& p) {
      return p.claim == held.claim && p.device == held.device && p.share_id == held.share_id;
    });
  });
  if (taken.size() > kDevicesPerPodMax) taken.resize(kDevicesPerPodMax);
  return taken;
}

}  // namespace galen::agent
