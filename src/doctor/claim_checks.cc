#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// After its grace period a Pod's containers are killed and its claims unprepared within seconds.
constexpr Duration kTerminationSlack = std::chrono::seconds(30);

// Names of the ResourceClaims that a Pod uses.
std::set<ObjectKey> ClaimsOf(const kube::Pod& pod) {
  std::set<ObjectKey> keys;
  for (const kube::PodClaim& claim : pod.claims) {
    if (const auto name = kube::ClaimObjectName(pod, claim.name)) {
      keys.insert({pod.meta.key.ns, *name});
    }
  }
  if (!pod.extended_claim.empty()) keys.insert({pod.meta.key.ns, pod.extended_claim});
  return keys;
}

// The drivers of a claim, from the kubelet's record and the claim's allocation.
std::set<std::string> DriversOf(const Observations& seen, const ObjectKey& key) {
  std::set<std::string> drivers;
  if (seen.kubelet.prepared.ok()) {
    for (const CheckpointedClaim& claim : *seen.kubelet.prepared) {
      if (claim.key == key) drivers.insert(claim.drivers.begin(), claim.drivers.end());
    }
  }
  if (seen.api.claims.ok()) {
    for (const ClaimSeen& claim : *seen.api.claims) {
      if (claim.claim.key != key) continue;
      for (const AllocatedDevice& device : claim.claim.devices) {
        drivers.insert(device.device.driver);
      }
    }
  }
  return drivers;
}

// Those drivers that cannot be reached here; none while the registry cannot be read.
std::vector<std::string> GoneOf(const Observations& seen, const std::set<std::string>& drivers) {
  std::vector<std::string> gone;
  const std::set<std::string> live = seen.LiveDrivers();
  for (const std::string& driver : drivers) {
    if (!live.contains(driver)) gone.push_back(Shown(driver));
  }
  return gone;
}

// OK when it is known which drivers run.
Status DriversKnown(const Observations& seen) {
  if (!seen.registry.ok()) return seen.registry.status();
  for (const RegistryEntry& entry : *seen.registry) {
    if (entry.connected.code() == Code::kPermissionDenied) return entry.connected;
  }
  return OkStatus();
}

// Why a Pod that should be gone still exists, as far as can be seen.
std::string WhyStuck(const Observations& seen, const PodSeen& pod) {
  std::set<std::string> drivers;
  for (const ObjectKey& key : ClaimsOf(pod.pod)) {
    const std::set<std::string> some = DriversOf(seen, key);
    drivers.insert(some.begin(), some.end());
  }
  if (DriversKnown(seen).ok()) {
    const std::vector<std::string> gone = GoneOf(seen, drivers);
    if (!gone.empty()) {
      return fmt::format("driver {} must unprepare its claim and does not {}", Listed(gone),
                         seen.AllAnswered().ok() ? "run" : "answer");
    }
  }
  if (!pod.finalizers.empty()) {
    return fmt::format("finalizer {} holds it", Shown(pod.finalizers.front()));
  }
  return drivers.empty() ? "it holds no device; the kubelet's log says why"
                         : "its drivers run; the kubelet's log says why";
}

// The most helpful reason first: a driver, a finalizer, then the rest.
Outcome JudgeStuck(const Observations& seen) {
  if (!seen.api.pods.ok()) return Unknown(seen.api.pods.status());
  std::vector<std::string> found;
  for (const PodSeen& pod : *seen.api.pods) {
    // deletionTimestamp is the end of the grace period, not the time of the request.
    if (!pod.pod.meta.deleted) continue;
    const Duration over = seen.ApiNow() - *pod.pod.meta.deleted;
    if (over <= kTerminationSlack) continue;
    found.push_back(fmt::format("{} should be gone for {}: {}", Shown(ToString(pod.pod.meta.key)),
                                ShownTime(over), WhyStuck(seen, pod)));
  }
  return Judged(Level::kBad, found, Counted(seen.api.pods->size(), "Pod"));
}

// Reported while the Pod still runs: it can be fixed then without harm.
Outcome JudgeDriverGone(const Observations& seen) {
  if (const Status known = DriversKnown(seen); !known.ok()) return Unknown(known);
  if (!seen.kubelet.prepared.ok() && !seen.api.claims.ok()) {
    return Unknown(seen.kubelet.prepared.status());
  }
  std::set<ObjectKey> keys;
  if (seen.kubelet.prepared.ok()) {
    for (const CheckpointedClaim& claim : *seen.kubelet.prepared) keys.insert(claim.key);
  }
  if (seen.api.claims.ok()) {
    for (const ClaimSeen& claim : *seen.api.claims) {
      const Claim& one = claim.claim;
      const bool used = !one.reserved_for.empty() || !one.reserved_for_groups.empty();
      if (claim.here && used) keys.insert(one.key);
    }
  }
  std::vector<std::string> found;
  for (const ObjectKey& key : keys) {
    const std::vector<std::string> gone = GoneOf(seen, DriversOf(seen, key));
    if (gone.empty()) continue;
    found.push_back(fmt::format("claim {} is of {}", Shown(ToString(key)), Listed(gone)));
  }
  if (const Status all = seen.AllAnswered(); !found.empty() && !all.ok()) return Unknown(all);
  return Judged(Level::kBad, found, Counted(keys.size(), "claim"));
}

// nullopt: it could not be looked up.
std::optional<bool> PodIsThere(const Observations& seen, const PodRef& ref) {
  for (const PodSeen& pod : *seen.api.pods) {
    if (pod.pod.meta.uid == ref.uid) return true;
  }
  const auto far = seen.api.far_pods.find(ref.uid);
  if (far == seen.api.far_pods.end() || !far->second.ok()) return std::nullopt;
  return *far->second;
}

// Only claims of this node: their Pods can run nowhere else.
Outcome JudgeReservedGone(const Observations& seen) {
  if (!seen.api.claims.ok()) return Unknown(seen.api.claims.status());
  if (!seen.api.pods.ok()) return Unknown(seen.api.pods.status());
  std::vector<std::string> found;
  std::size_t judged = 0;
  bool all_asked = true;
  for (const ClaimSeen& claim : *seen.api.claims) {
    if (!claim.here) continue;
    ++judged;
    for (const PodRef& ref : claim.claim.reserved_for) {
      const std::optional<bool> there = PodIsThere(seen, ref);
      all_asked = all_asked && there.has_value();
      if (!there.value_or(true)) {
        found.push_back(fmt::format("{} is reserved for Pod {}, which is gone",
                                    Shown(ToString(claim.claim.key)), Shown(ref.key.name)));
      }
    }
  }
  if (found.empty() && !all_asked) return Unknown("not every Pod could be asked for");
  return Judged(Level::kBad, found, Counted(judged, "claim"));
}

// A claim made anew under the old name has another UID, and the kubelet refuses it.
Outcome JudgePreparedGone(const Observations& seen) {
  if (!seen.kubelet.prepared.ok()) return Unknown(seen.kubelet.prepared.status());
  if (!seen.api.claims.ok()) return Unknown(seen.api.claims.status());
  std::map<ObjectKey, std::string> uids;
  for (const ClaimSeen& claim : *seen.api.claims) uids[claim.claim.key] = claim.claim.uid;
  std::vector<std::string> found;
  for (const CheckpointedClaim& claim : *seen.kubelet.prepared) {
    const auto there = uids.find(claim.key);
    if (there != uids.end() && there->second == claim.uid) continue;
    found.push_back(fmt::format(
        "{} ({}) is prepared, and {}", Shown(ToString(claim.key)), Shown(claim.uid),
        there == uids.end() ? "no such claim exists" : "the claim of that name is another"));
  }
  return Judged(Level::kBad, found, Counted(seen.kubelet.prepared->size(), "prepared claim"));
}

// A driver never revokes an allocation; a device that it withdraws stays with its Pod.
Outcome JudgeDevicesGone(const Observations& seen) {
  if (!seen.api.claims.ok()) return Unknown(seen.api.claims.status());
  if (!seen.api.slices.ok()) return Unknown(seen.api.slices.status());
  std::set<DeviceId> offered;
  std::set<std::pair<std::string, std::string>> pools;
  for (const kube::ResourceSlice& slice : *seen.api.slices) {
    pools.emplace(slice.driver, slice.pool);
    for (const kube::SliceDevice& device : slice.devices) {
      offered.insert({slice.driver, slice.pool, device.name});
    }
  }
  std::vector<std::string> found;
  std::size_t judged = 0;
  for (const ClaimSeen& claim : *seen.api.claims) {
    for (const AllocatedDevice& device : claim.claim.devices) {
      // A driver without any slice is reported by slices.missing or claims.driver-gone.
      if (!pools.contains({device.device.driver, device.device.pool})) continue;
      ++judged;
      if (offered.contains(device.device)) continue;
      found.push_back(fmt::format("{} holds {}", Shown(ToString(claim.claim.key)),
                                  Shown(ToString(device.device))));
    }
  }
  return Judged(Level::kWarning, found, Counted(judged, "device") + " held");
}

}  // namespace

std::vector<Check> ClaimChecks() {
  return {
      // Seen on 1.37.1: a Pod stayed for ten minutes, until its driver ran again.
      {"claims.stuck-pods", Level::kBad, "Pods that were deleted go",
       "The Pod keeps its name, its devices and its place on the node.",
       "Start the driver that is named: the kubelet tries again within two minutes. Deleting the "
       "Pod by force leaves the claim prepared.",
       JudgeStuck},
      {"claims.driver-gone", Level::kBad, "The driver of each prepared claim runs",
       "Pods with these claims run on, but cannot end, and nobody knows the health of their "
       "devices.",
       "Start the driver again before you delete the Pods.", JudgeDriverGone},
      {"claims.reserved-gone", Level::kBad, "No claim is reserved for a Pod that is gone",
       "The claim's devices stay taken though nobody uses them.",
       "See whether kube-controller-manager runs: its resource claim controller takes such "
       "reservations away.",
       JudgeReservedGone},
      // "old ResourceClaim with same name … still exists": the kubelet refuses the next one.
      {"claims.prepared-gone", Level::kBad, "Each prepared claim exists",
       "A Pod or claim was deleted by force. The devices stay prepared, and a new claim of that "
       "name is refused here.",
       "The kubelet unprepares it within a minute, if the driver runs. Else start the driver, then "
       "the kubelet, again. A kubelet that lost its state never does: docs/guide/doctor.md.",
       JudgePreparedGone},
      {"claims.devices-gone", Level::kWarning, "Each device that a claim holds is still offered",
       "The driver has withdrawn the device, as many do with a broken one; its Pod still uses it.",
       "Ask galen why POD, and replace the Pod.", JudgeDevicesGone},
  };
}

}  // namespace galen::doctor
