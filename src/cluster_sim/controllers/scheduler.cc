#include "cluster_sim/controllers/scheduler.h"

#include <algorithm>

#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/allocation/extended_resources.h"
#include "kube/request.h"

namespace galen::cluster_sim {
namespace {

bool IsOurs(const Json& pod) {
  const std::string& name = pod["spec"]["schedulerName"].AsString();
  return name.empty() || name == Scheduler::kName;
}

bool WantsNode(const Json& pod) {
  return IsOurs(pod) && pod["spec"]["nodeName"].AsString().empty() &&
         !api_sim::IsBeingDeleted(pod) && !api_sim::IsPodDone(pod) &&
         pod["spec"]["schedulingGates"].items().empty();
}

// By uid: a new Pod of the same name needs its own reservation.
bool IsReservedFor(const Json& claim, const Json& pod) {
  const std::vector<PodRef> holders = api_sim::Holders(claim);
  return std::any_of(holders.begin(), holders.end(),
                     [&pod](const PodRef& holder) { return holder.uid == api_sim::UidOf(pod); });
}

void Reserve(Json& claim, const Json& pod) {
  if (IsReservedFor(claim, pod)) return;
  claim["status"]["reservedFor"].Append(Json::MakeObject(
      {{"resource", "pods"}, {"name", api_sim::KeyOf(pod).name}, {"uid", api_sim::UidOf(pod)}}));
}

// POST of a v1 Binding to the Pod's subresource; the uid protects a later Pod of the name.
net::HttpRequest BindRequest(const Json& pod, const std::string& node) {
  const ObjectKey key = api_sim::KeyOf(pod);
  const Json binding = Json::MakeObject(
      {{"apiVersion", "v1"},
       {"kind", "Binding"},
       {"metadata", Json::MakeObject(
                        {{"name", key.name}, {"namespace", key.ns}, {"uid", api_sim::UidOf(pod)}})},
       {"target", Json::MakeObject({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}})}});
  net::HttpRequest request = kube::Create(kube::kPods, key.ns, binding);
  request.path = kube::Get(kube::kPods, key.ns, key.name).path + "/binding";
  return request;
}

}  // namespace

Scheduler::Scheduler(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log)
    : loop_(loop),
      view_(view),
      log_(log),
      events_(loop, client, random, log, kName),
      calls_(loop, client),
      queue_(loop, random, {.backoff = {}, .at_once_max = 1},
             [this](const ObjectKey& key, Queue::Done done) { LookAt(key, std::move(done)); }) {
  const auto on_offer = [this](const ObjectKey&, const Json*, const Json*) {
    devices_.reset();
    MarkWaiting();
  };
  const auto on_change = [this](const ObjectKey&, const Json*, const Json*) { MarkWaiting(); };
  view_.OnSynced([this] { MarkWaiting(); });
  view_.slices.AddListener(on_offer);
  view_.taint_rules.AddListener(on_offer);
  view_.nodes.AddListener(on_change);
  view_.classes.AddListener(on_offer);
  view_.pods.AddListener([this](const ObjectKey& key, const Json* before, const Json* after) {
    // Also a Pod whose node selector, tolerations or gates changed while it waits.
    if (after != nullptr && WantsNode(*after)) return queue_.MarkDirty(key);
    // A Pod that left its node makes room.
    if (before != nullptr && (after == nullptr || api_sim::IsPodDone(*after))) MarkWaiting();
  });
  view_.claims.AddListener([this](const ObjectKey& key, const Json* before, const Json* after) {
    if (devices_) devices_->OnClaim(before, after);
    OnClaim(key, after);
  });
}

void Scheduler::MarkWaiting() {
  if (!view_.synced()) return;
  for (const ObjectKey& pod : view_.pods.Lookup(ClusterView::kByNode, "")) {
    // A look that is due earlier is not postponed.
    queue_.MarkDirtyAt(pod, loop_.Now() + kGatherDelay);
  }
}

void Scheduler::OnClaim(const ObjectKey& key, const Json* after) {
  SettleAssumed(key, after);
  for (const ObjectKey& pod : view_.pods.Lookup(ClusterView::kByClaim, ToString(key))) {
    queue_.MarkDirty(pod);
  }
  // The Pod that it was created for may not name it yet.
  const Json* owner = after == nullptr ? nullptr : api_sim::OwnerPod(*after);
  if (owner != nullptr) queue_.MarkDirty({key.ns, (*owner)["name"].AsString()});
  // Only an allocated claim holds devices.
  const bool freed = after == nullptr || (*after)["status"]["allocation"].is_null();
  if (freed) MarkWaiting();
}

void Scheduler::SettleAssumed(const ObjectKey& key, const Json* seen) {
  const auto it = assumed_.find(key);
  if (it == assumed_.end()) return;
  // Gone, replaced by another of the same name, or changed since the version that was written.
  const bool settled = seen == nullptr || api_sim::UidOf(*seen) != it->second.uid ||
                       api_sim::ResourceVersionOf(*seen) > it->second.sent_for;
  if (settled) assumed_.erase(it);
}

void Scheduler::LookAt(const ObjectKey& key, Queue::Done done) {
  const Json* pod = view_.pods.Find(key);
  if (!view_.synced() || pod == nullptr || !WantsNode(*pod)) return done(OkStatus());
  if (AwaitsOwnWrites(*pod)) return done(OkStatus());
  StatusOr<Placement> placement = Decide(*pod);
  if (placement.ok()) {
    job_ = Job{.pod = *pod,
               .placement = std::move(placement).value(),
               .next_claim = 0,
               .done = std::move(done)};
    return Advance();
  }
  // The claims do not exist yet: their creation causes the next look.
  if (placement.status().code() == Code::kFailedPrecondition) return done(OkStatus());
  // An allocated claim ties the Pod to a node that does not fit now; without it another node may.
  if (ReleaseOne(*pod, done)) return;
  Refuse(*pod, placement.status(), std::move(done));
}

bool Scheduler::AwaitsOwnWrites(const Json& pod) const {
  const bool extended = std::any_of(assumed_.begin(), assumed_.end(), [&pod](const auto& entry) {
    return entry.second.written && entry.second.pod_uid == api_sim::UidOf(pod);
  });
  if (extended) return true;
  const std::vector<api_sim::PodClaimFacts> claims = api_sim::PodClaims(pod);
  return std::any_of(claims.begin(), claims.end(), [&](const api_sim::PodClaimFacts& claim) {
    const auto it = assumed_.find({api_sim::KeyOf(pod).ns, claim.object_name.value_or("")});
    return it != assumed_.end() && it->second.written;
  });
}

DeviceBook& Scheduler::Devices() {
  if (devices_) return *devices_;
  devices_.emplace(view_.slices.objects(), view_.taint_rules.objects(), view_.classes.objects(),
                   view_.claims.objects());
  for (const std::string& problem : devices_->problems()) {
    log_.Warning("not among the devices to be had", {{"error", problem}});
  }
  return *devices_;
}

StatusOr<Placement> Scheduler::Decide(const Json& pod) {
  // The facts are valid until the decision ends: the view changes only between turns of the loop.
  DeviceBook& devices = Devices();
  std::vector<const Json*> unseen;
  for (const auto& [key, assumed] : assumed_) {
    const Json* claim = view_.claims.Find(key);
    const bool shown = claim != nullptr && api_sim::UidOf(*claim) == assumed.uid &&
                       !(*claim)["status"]["allocation"].is_null();
    if (!shown) unseen.push_back(&assumed.allocation);
  }
  for (const Json* allocation : unseen) devices.Hold(*allocation);
  StatusOr<Placement> placement = Place(
      pod,
      {.nodes = view_.nodes.objects(),
       .claims = view_.claims.objects(),
       .classes = view_.classes.objects(),
       .devices = devices,
       .allocation_of = [this](const Json& claim) -> const Json& { return AllocationOf(claim); },
       .pods_on =
           [this](const std::string& node) {
             return view_.pods.Lookup(ClusterView::kByNode, node).size();
           }});
  for (const Json* allocation : unseen) devices.Release(*allocation);
  // The next Pod's selectors get as much work again.
  if (devices.memo().exhausted()) devices_.reset();
  return placement;
}

const Json& Scheduler::AllocationOf(const Json& claim) const {
  const Json& written = claim["status"]["allocation"];
  if (!written.is_null()) return written;
  const auto it = assumed_.find(api_sim::KeyOf(claim));
  return it != assumed_.end() && it->second.uid == api_sim::UidOf(claim) ? it->second.allocation
                                                                         : written;
}

void Scheduler::Advance() {
  std::vector<ClaimPlacement>& claims = job_->placement.claims;
  while (job_->next_claim < claims.size()) {
    ClaimPlacement& claim = claims[job_->next_claim];
    // A claim that has both its devices and this Pod's reservation needs no write.
    if (!claim.allocation.is_null() || !IsReservedFor(claim.claim, job_->pod)) {
      return WriteClaim(claim);
    }
    ++job_->next_claim;
  }
  auto& extended = job_->placement.extended;
  if (!extended) return Bind();
  if (extended->name.empty()) return MakeClaim(*extended);
  WriteMappings(*extended);
}

void Scheduler::MakeClaim(ExtendedPlacement& extended) {
  calls_.Do(kube::Create(kube::kResourceClaims, api_sim::KeyOf(job_->pod).ns, extended.claim),
            [this](const StatusOr<Json>& answer) {
              if (!answer.ok()) return End(answer.status());
              ExtendedPlacement& made = *job_->placement.extended;
              made.name = api_sim::KeyOf(*answer).name;
              // From here on it is a claim like the others, and the next step allocates it.
              job_->placement.claims.push_back({*answer, made.allocation});
              Advance();
            });
}

// With the uid, so that a later Pod of the name does not get this one's claim.
void Scheduler::WriteMappings(const ExtendedPlacement& extended) {
  const ObjectKey key = api_sim::KeyOf(job_->pod);
  const Json status = Json::MakeObject(
      {{"resourceClaimName", extended.name}, {"requestMappings", extended.mappings}});
  const Json patch =
      Json::MakeObject({{"metadata", Json::MakeObject({{"uid", api_sim::UidOf(job_->pod)}})},
                        {"status", Json::MakeObject({{"extendedResourceClaimStatus", status}})}});
  calls_.Do(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kMerge, patch,
                        {.subresource = "status", .field_manager = ""}),
            [this](const StatusOr<Json>& answer) {
              if (!answer.ok()) return End(answer.status());
              Bind();
            });
}

void Scheduler::WriteClaim(ClaimPlacement& claim) {
  // Only a reservation is missing, or the finalizer is set already.
  if (claim.allocation.is_null() ||
      api_sim::HasFinalizer(claim.claim, api_sim::kDeleteProtection)) {
    return WriteClaimStatus(claim.claim, claim.allocation);
  }
  // First the finalizer: a claim must not vanish between getting devices and being protected.
  Json protected_claim = claim.claim;
  protected_claim["metadata"]["finalizers"].Append(api_sim::kDeleteProtection);
  calls_.Do(kube::Update(kube::kResourceClaims, protected_claim),
            [this, allocation = claim.allocation](StatusOr<Json> answer) {
              if (!answer.ok()) return End(answer.status());
              WriteClaimStatus(std::move(answer).value(), allocation);
            });
}

void Scheduler::WriteClaimStatus(Json claim, const Json& allocation) {
  const ObjectKey key = api_sim::KeyOf(claim);
  if (!allocation.is_null()) {
    // Before the request is sent: from here on it may be written, whatever the answer.
    assumed_.insert_or_assign(
        key, Assumed{api_sim::UidOf(claim), allocation, api_sim::ResourceVersionOf(claim), false});
    if (IsExtendedClaimOf(claim, job_->pod)) assumed_.at(key).pod_uid = api_sim::UidOf(job_->pod);
    claim["status"]["allocation"] = allocation;
    claim["status"]["allocation"]["allocationTimestamp"] = FormatRfc3339(loop_.WallNow());
  }
  Reserve(claim, job_->pod);
  calls_.Do(kube::Update(kube::kResourceClaims, claim, "status"),
            [this, key](const StatusOr<Json>& answer) { OnClaimStatus(key, answer); });
}

void Scheduler::OnClaimStatus(const ObjectKey& key, const StatusOr<Json>& answer) {
  const auto assumed = assumed_.find(key);
  if (!answer.ok()) {
    // A conflict can come from an earlier try of ours that arrived after all: only an answer that
    // every try would get frees the devices.
    const bool never = assumed != assumed_.end() && !IsRetryable(answer.status());
    if (never) assumed_.erase(assumed);
    return End(answer.status());
  }
  if (assumed != assumed_.end()) {
    assumed->second.written = true;
    // The watch may have been faster than the answer.
    SettleAssumed(key, view_.claims.Find(key));
  }
  ++job_->next_claim;
  Advance();
}

void Scheduler::Bind() {
  calls_.Do(BindRequest(job_->pod, job_->placement.node), [this](const StatusOr<Json>& answer) {
    if (answer.ok()) {
      events_.Record(job_->pod, EventType::kNormal, "Scheduled",
                     fmt::format("Successfully assigned {} to {}",
                                 ToString(api_sim::KeyOf(job_->pod)), job_->placement.node));
    }
    End(answer.status());
  });
}

void Scheduler::End(const Status& status) {
  // job_ is cleared before `done` runs, since the queue may start the next look at once.
  const Queue::Done done = std::move(job_->done);
  job_.reset();
  done(status.code() == Code::kNotFound ? OkStatus() : status);
}

bool Scheduler::ReleaseOne(const Json& pod, const Queue::Done& done) {
  std::vector<ObjectKey> keys;
  for (const api_sim::PodClaimFacts& entry : api_sim::PodClaims(pod)) {
    keys.push_back({api_sim::KeyOf(pod).ns, entry.object_name.value_or("")});
  }
  for (const ObjectKey& key : view_.claims.Lookup(ClusterView::kByPod, api_sim::UidOf(pod))) {
    const Json* claim = view_.claims.Find(key);
    if (claim == nullptr || !IsExtendedClaimOf(*claim, pod)) continue;
    keys.push_back(key);
    if (!(*claim)["status"]["allocation"].is_null() || api_sim::IsBeingDeleted(*claim)) continue;
    calls_.Do(kube::Delete(kube::kResourceClaims, key.ns, key.name,
                           {.grace_seconds = std::nullopt, .uid = api_sim::UidOf(*claim)}),
              [done](const StatusOr<Json>& answer) { done(answer.status()); });
    return true;
  }
  for (const ObjectKey& key : keys) {
    const Json* claim = view_.claims.Find(key);
    if (claim == nullptr || (*claim)["status"]["allocation"].is_null()) continue;
    // Other Pods use it, or may: it stays allocated.
    if (api_sim::Holders(*claim).size() != 1 || !IsReservedFor(*claim, pod)) continue;
    Json released = *claim;
    released["status"].Erase("allocation");
    released["status"].Erase("reservedFor");
    calls_.Do(kube::Update(kube::kResourceClaims, released, "status"),
              [done](const StatusOr<Json>& answer) { done(answer.status()); });
    return true;
  }
  return false;
}

void Scheduler::Refuse(const Json& pod, const Status& why, Queue::Done done) {
  const std::string reason =
      why.code() == Code::kInvalidArgument ? "SchedulerError" : "Unschedulable";
  const Json& before = api_sim::FindCondition(pod["status"]["conditions"], "PodScheduled");
  // Writing the same again would cause a change, and the change another look and write.
  if (before["reason"].AsString() == reason && before["message"].AsString() == why.message()) {
    return done(OkStatus());
  }
  events_.Record(pod, EventType::kWarning, "FailedScheduling", why.message());
  // The time is when the Pod began to wait, whatever the present reason.
  const bool was_false = before["status"].AsString() == "False";
  const Json condition =
      Json::MakeObject({{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", reason},
                        {"message", why.message()},
                        {"lastProbeTime", nullptr},
                        {"lastTransitionTime", was_false ? before["lastTransitionTime"]
                                                         : Json(FormatRfc3339(loop_.WallNow()))}});
  const Json patch = Json::MakeObject(
      {{"metadata", Json::MakeObject({{"uid", api_sim::UidOf(pod)}})},
       {"status", Json::MakeObject({{"conditions", Json::MakeArray({condition})}})}});
  const ObjectKey key = api_sim::KeyOf(pod);
  calls_.Do(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kStrategic, patch,
                        {.subresource = "status", .field_manager = ""}),
            [done = std::move(done)](const StatusOr<Json>& answer) {
              done(answer.status().code() == Code::kNotFound ? OkStatus() : answer.status());
            });
}

}  // namespace galen::cluster_sim
