#include "agent/manager/claim_caller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "base/text.h"
#include "protos/dra/v1/dra.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;

constexpr std::size_t kDriverErrorBytesMax = 512;

// v1 and v1beta1 have the same bytes here, so one encoding serves both.
template <typename Request>
std::string Encode(const std::vector<const ClaimRecord*>& claims) {
  Request request;
  for (const ClaimRecord* claim : claims) {
    dra::Claim& item = *request.add_claims();
    item.set_namespace_(claim->key.ns);
    item.set_name(claim->key.name);
    item.set_uid(claim->uid);
  }
  return request.SerializeAsString();
}

// Kubernetes allocates at most 32 devices to a claim; more of anything is a driver gone wrong.
constexpr int kDevicesPerAnswerMax = 128;
constexpr int kCdiIdsPerDeviceMax = 64;
constexpr std::size_t kNameBytesMax = 253;

PreparedDevice FromProto(const std::string& driver, const dra::Device& device) {
  const auto name = [](const std::string& text) { return Shown(text, kNameBytesMax); };
  PreparedDevice prepared{.device = {driver, name(device.pool_name()), name(device.device_name())},
                          .share_id = name(device.share_id())};
  for (const std::string& id : device.cdi_device_ids()) {
    if (prepared.cdi_ids.size() < kCdiIdsPerDeviceMax) prepared.cdi_ids.push_back(name(id));
  }
  return prepared;
}

// A driver may have nothing to give to containers, or not for each device: "zero or more devices"
// (NodePrepareResourceResponse in kubelet/pkg/apis/dra/v1/api.proto). But one that names a device
// that the claim does not hold answers for another allocation, and its CDI ids would give the Pod
// what is another's. The kubelet compares the UIDs of claims and no device (prepareResources in
// pkg/kubelet/cm/dra/manager.go), so that a container beside it does start with what is foreign.
Status CheckAnswer(const ClaimRecord& claim, const std::string& driver) {
  for (const PreparedDevice& prepared : claim.devices) {
    if (prepared.device.driver != driver || claim.Holds(prepared.device)) continue;
    return Unavailable("driver {} prepared {} for claim {}, which does not hold it", driver,
                       ToString(prepared.device), ToString(claim.key));
  }
  return OkStatus();
}

// The driver's answer for one claim; a claim that it leaves out is a fault of the driver.
template <typename Response>
Status ErrorOf(const Response& response, const std::string& driver, const std::string& uid) {
  const auto it = response.claims().find(uid);
  if (it == response.claims().end()) {
    return Unavailable("driver {} left claim {} out of its answer", driver, uid);
  }
  if (it->second.error().empty()) return OkStatus();
  return Unavailable("driver {}: {}", driver, Shown(it->second.error(), kDriverErrorBytesMax));
}

}  // namespace

bool ClaimCaller::IsWaiting(const kube::Pod& pod) const {
  const std::vector<ObjectKey> keys = ClaimKeysOf(pod);
  // A claim that needs no object has an entry in the status without a name.
  const std::size_t named = static_cast<std::size_t>(
      std::count_if(pod.claims.begin(), pod.claims.end(), [&](const kube::PodClaim& claim) {
        return kube::ClaimObjectName(pod, claim.name) || pod.claim_names.contains(claim.name);
      }));
  if (named < pod.claims.size()) return true;
  return std::any_of(keys.begin(), keys.end(), [&](const ObjectKey& key) {
    const Claim* claim = edges_.view.FindClaimFor(pod, key);
    return claim == nullptr || !IsHeldBy(*claim, pod.meta.uid, pod.group);
  });
}

bool ClaimCaller::IsReady(const kube::Pod& pod) const {
  if (IsWaiting(pod)) return false;
  const std::vector<ObjectKey> keys = ClaimKeysOf(pod);
  return std::all_of(keys.begin(), keys.end(), [&](const ObjectKey& key) {
    const Claim& claim = *edges_.view.FindClaim(key);
    const ClaimRecord* prepared = edges_.claims.Find(claim.uid);
    return ready_.contains(claim.uid) && noted_.contains(pod.meta.uid) && prepared != nullptr &&
           prepared->pods.contains(pod.meta.uid) && !prepared->IsStale(claim);
  });
}

void ClaimCaller::Prepare(const kube::Pod& pod, Done done) {
  const StatusOr<std::set<std::string>> stale = StaleClaims(pod);
  if (!stale.ok()) return done(stale.status());
  if (!stale->empty()) return UnprepareStale(pod.ref(), *stale, done);
  const StatusOr<Batches> batches = Reserve(pod);
  if (!batches.ok()) return done(batches.status());
  std::set<std::string> uids;
  for (const auto& [driver, claims] : *batches) uids.insert(claims.begin(), claims.end());
  if (AnyBusy(uids)) {
    return done(
        Aborted("a claim of pod {} is being prepared for another pod", ToString(pod.meta.key)));
  }
  Hold(uids);
  // On the disk before any driver is asked.
  Save([this, uids, batches = *batches, pod_uid = pod.meta.uid, done](const Status& saved) {
    if (!saved.ok()) {
      LetGo(uids);
      return done(saved);
    }
    noted_.insert(pod_uid);
    if (batches.empty()) return done(OkStatus());
    Ask(NodeCall::kPrepare, batches, [this, uids, done](const Status& status) {
      if (!status.ok()) {
        LetGo(uids);
        return done(status);
      }
      Save([this, uids, done](const Status& kept) {
        LetGo(uids);
        // Ready even if the checkpoint cannot be written: the drivers have prepared the claims.
        ready_.insert(uids.begin(), uids.end());
        done(kept);
      });
    });
  });
}

StatusOr<std::set<std::string>> ClaimCaller::StaleClaims(const kube::Pod& pod) const {
  std::set<std::string> uids;
  for (const ObjectKey& key : ClaimKeysOf(pod)) {
    const Claim& claim = *edges_.view.FindClaim(key);
    const ClaimRecord* record = edges_.claims.Find(claim.uid);
    if (record == nullptr || !record->IsStale(claim)) continue;
    // Containers of its former Pods may still use what was prepared: it is unprepared only after
    // they end.
    if (std::ranges::any_of(record->pods, [&](const std::string& uid) {
          return uid != pod.meta.uid && !claim.IsReservedFor(uid, "");
        })) {
      return Aborted(
          "claim {} was allocated anew, but a pod of its former allocation still holds it",
          ToString(key));
    }
    uids.insert(claim.uid);
  }
  return uids;
}

void ClaimCaller::UnprepareStale(const PodRef& pod, const std::set<std::string>& uids,
                                 const Done& done) {
  if (AnyBusy(uids))
    return done(Aborted("a claim of pod {} is being prepared or unprepared", ToString(pod.key)));
  for (const std::string& uid : uids) ready_.erase(uid);
  Hold(uids);
  Ask(NodeCall::kUnprepare, DriversOf(uids), [this, pod, uids, done](const Status& status) {
    if (!status.ok()) {
      LetGo(uids);
      return done(status);
    }
    for (const std::string& uid : uids) edges_.claims.Remove(uid);
    Save([this, pod, uids, done](const Status& saved) {
      LetGo(uids);
      if (!saved.ok()) return done(saved);
      const kube::Pod* now = edges_.view.FindPod(pod.key);
      // An event of the Pod or its claim has come meanwhile, and it will be looked at again.
      if (now == nullptr || now->meta.uid != pod.uid || IsWaiting(*now)) {
        return done(Aborted("pod {} changed meanwhile", ToString(pod.key)));
      }
      Prepare(*now, done);
    });
  });
}

void ClaimCaller::Unprepare(const std::string& pod_uid, Done done) {
  std::set<std::string> last;
  bool changed = false;
  noted_.erase(pod_uid);
  for (const std::string& uid : edges_.claims.ClaimsOfPod(pod_uid)) {
    ClaimRecord& claim = *edges_.claims.Find(uid);
    if (claim.pods.size() > 1) {
      claim.pods.erase(pod_uid);
      changed = true;
      continue;
    }
    last.insert(uid);
  }
  if (changed) {
    // The claims are looked up anew afterwards: another Pod may have joined one meanwhile.
    return Save([this, pod_uid, done](const Status& saved) {
      if (!saved.ok()) return done(saved);
      Unprepare(pod_uid, done);
    });
  }
  if (last.empty()) return done(OkStatus());
  UnprepareLast(last, done);
}

void ClaimCaller::UnprepareLast(const std::set<std::string>& uids, const Done& done) {
  if (AnyBusy(uids)) return done(Aborted("a claim is being prepared or unprepared"));
  // From here on these claims do not count as ready.
  for (const std::string& uid : uids) ready_.erase(uid);
  Hold(uids);
  Ask(NodeCall::kUnprepare, DriversOf(uids), [this, uids, done](const Status& status) {
    if (!status.ok()) {
      LetGo(uids);
      return done(status);
    }
    // Only now: had the agent ended before the drivers answered, the next one would ask them again.
    for (const std::string& uid : uids) edges_.claims.Remove(uid);
    Save([this, uids, done](const Status& saved) {
      LetGo(uids);
      done(saved);
    });
  });
}

std::set<std::string> ClaimCaller::PodsInCheckpoint() const {
  std::set<std::string> pods;
  for (const auto& [uid, claim] : edges_.claims.all()) {
    pods.insert(claim.pods.begin(), claim.pods.end());
  }
  return pods;
}

StatusOr<ClaimCaller::Batches> ClaimCaller::Reserve(const kube::Pod& pod) {
  Batches batches;
  for (const ObjectKey& key : ClaimKeysOf(pod)) {
    const Claim& claim = *edges_.view.FindClaim(key);
    if (edges_.claims.Find(claim.uid) == nullptr && edges_.claims.full()) {
      return ResourceExhausted("{} claims are prepared on this node already",
                               ClaimCheckpoint::kClaimsMax);
    }
    ClaimRecord& prepared = edges_.claims.Add(key, claim.uid);
    prepared.pods.insert(pod.meta.uid);
    prepared.allocated = claim.devices;
    prepared.allocated_at = claim.allocated_at;
    for (const AllocatedDevice& device : claim.devices) {
      prepared.drivers.insert(device.device.driver);
    }
    // Another Pod's prepare covers it; this Pod is only recorded.
    if (ready_.contains(claim.uid)) continue;
    for (const std::string& driver : prepared.drivers) batches[driver].push_back(claim.uid);
  }
  return batches;
}

void ClaimCaller::Save(Done next) {
  edges_.claims.Save(
      [next = std::move(next), watch = Liveness::Watch(liveness_)](const Status& saved) {
        if (watch.alive()) next(saved);
      });
}

bool ClaimCaller::AnyBusy(const std::set<std::string>& uids) const {
  return std::ranges::any_of(uids, [&](const std::string& uid) { return busy_.contains(uid); });
}

void ClaimCaller::LetGo(const std::set<std::string>& uids) {
  for (const std::string& uid : uids) busy_.erase(uid);
}

ClaimCaller::Batches ClaimCaller::DriversOf(const std::set<std::string>& uids) {
  Batches batches;
  for (const std::string& uid : uids) {
    for (const std::string& driver : edges_.claims.Find(uid)->drivers)
      batches[driver].push_back(uid);
  }
  return batches;
}

void ClaimCaller::Ask(NodeCall call, Batches batches, std::function<void(const Status&)> done) {
  // Every claim was ready, or holds no devices: no driver need be asked.
  if (batches.empty()) return done(OkStatus());
  const std::uint64_t round = next_round_++;
  rounds_.emplace(round, Round{.call = call,
                               .batches = batches,
                               .open = batches.size(),
                               .first_error = OkStatus(),
                               .done = std::move(done)});
  for (const auto& [driver, uids] : batches) {
    edges_.drivers.CallDriver(driver, call, RequestOf(call, uids),
                              [this, watch = Liveness::Watch(liveness_), round,
                               name = driver](const StatusOr<std::string>& reply) {
                                if (watch.alive()) OnAnswer(round, name, reply);
                              });
  }
}

void ClaimCaller::OnAnswer(std::uint64_t round, const std::string& driver,
                           const StatusOr<std::string>& reply) {
  Round& of = rounds_.at(round);
  const Status taken = TakeIn(of.call, driver, of.batches.at(driver), reply);
  if (of.first_error.ok()) of.first_error = taken;
  if (--of.open > 0) return;
  const Round over = std::move(rounds_.extract(round).mapped());
  over.done(over.first_error);  // last: it may destroy this
}

Status ClaimCaller::TakeIn(NodeCall call, const std::string& driver,
                           const std::vector<std::string>& uids,
                           const StatusOr<std::string>& reply) {
  // Whatever the driver's code, asking again is all that can be done.
  if (!reply.ok()) {
    return Unavailable("driver {}: {}", driver,
                       Shown(reply.status().message(), kDriverErrorBytesMax));
  }
  return call == NodeCall::kPrepare ? TakePrepared(driver, uids, *reply)
                                    : TakeUnprepared(driver, uids, *reply);
}

Status ClaimCaller::TakePrepared(const std::string& driver, const std::vector<std::string>& uids,
                                 const std::string& reply) {
  const auto answer = rpc::Decode<dra::NodePrepareResourcesResponse>(reply);
  if (!answer.ok()) {
    return Unavailable("driver {} sent an answer that cannot be read: {}", driver,
                       answer.status().message());
  }
  const auto& response = *answer;
  for (const std::string& uid : uids) RETURN_IF_ERROR(ErrorOf(response, driver, uid));
  for (const std::string& uid : uids) {
    ClaimRecord* claim = edges_.claims.Find(uid);
    if (claim == nullptr) continue;
    // The answer replaces what this driver said before; other drivers' devices of the claim stay.
    const auto forget = [&] {
      std::erase_if(claim->devices, [&](const auto& d) { return d.device.driver == driver; });
    };
    forget();
    const auto& devices = response.claims().at(uid).devices();
    for (int i = 0; i < std::min(devices.size(), kDevicesPerAnswerMax); ++i) {
      claim->devices.push_back(FromProto(driver, devices[i]));
    }
    if (const Status fits = CheckAnswer(*claim, driver); !fits.ok()) {
      forget();
      return fits;
    }
  }
  return OkStatus();
}

Status ClaimCaller::TakeUnprepared(const std::string& driver, const std::vector<std::string>& uids,
                                   const std::string& reply) {
  const auto answer = rpc::Decode<dra::NodeUnprepareResourcesResponse>(reply);
  if (!answer.ok()) {
    return Unavailable("driver {} sent an answer that cannot be read: {}", driver,
                       answer.status().message());
  }
  const auto& response = *answer;
  for (const std::string& uid : uids) RETURN_IF_ERROR(ErrorOf(response, driver, uid));
  return OkStatus();
}

// REQUIRES: every uid is recorded, as Reserve does before any driver is asked.
std::string ClaimCaller::RequestOf(NodeCall call, const std::vector<std::string>& uids) {
  std::vector<const ClaimRecord*> claims;
  for (const std::string& uid : uids) claims.push_back(edges_.claims.Find(uid));
  return call == NodeCall::kPrepare ? Encode<dra::NodePrepareResourcesRequest>(claims)
                                    : Encode<dra::NodeUnprepareResourcesRequest>(claims);
}

}  // namespace galen::agent
