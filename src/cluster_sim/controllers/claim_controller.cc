#include "cluster_sim/controllers/claim_controller.h"

#include <algorithm>

#include "api_sim/objects/pod_facts.h"
#include "base/data/fnv1a.h"
#include "kube/request.h"

namespace galen::cluster_sim {
namespace {

// Kubernetes shortens generated names so that they fit labels: 63 with the suffix.
constexpr std::size_t kNameBaseMax = 58;
constexpr int kClaimSuffixLength = 5;

bool Holds(const ClusterView& view, const PodRef& holder) {
  const Json* pod = view.pods.Find(holder.key);
  return pod != nullptr && api_sim::UidOf(*pod) == holder.uid && !api_sim::IsPodDone(*pod);
}

// The status that `claim` should have: without holders that ended and, after the last one or when
// the claim is being deleted, without devices.
Json WantedStatus(const ClusterView& view, const Json& claim) {
  Json status = claim["status"];
  if (!status.is_object()) return status;
  const std::vector<PodRef> pods = api_sim::Holders(claim);
  const auto ended = [&](const Json& holder) {
    return std::any_of(pods.begin(), pods.end(), [&](const PodRef& pod) {
      return pod.uid == holder["uid"].AsString() && !Holds(view, pod);
    });
  };
  // A claim that was allocated and never reserved is left alone: a reservation may be about to
  // come.
  const bool had_holders = !claim["status"]["reservedFor"].items().empty();
  Json left(Json::Array{});
  for (const Json& holder : claim["status"]["reservedFor"].items()) {
    if (!ended(holder)) left.Append(holder);
  }
  if (!left.items().empty()) {
    status["reservedFor"] = std::move(left);
  } else if (had_holders || api_sim::IsBeingDeleted(claim)) {
    status.Erase("reservedFor");
    status.Erase("allocation");
    // Drivers report only on allocated devices; the API refuses reports without an allocation.
    status.Erase("devices");
  }
  return status;
}

// REQUIRES: `claim` has finalizers.
Json WithoutFinalizer(Json claim) {
  Json::Array& finalizers = claim["metadata"]["finalizers"].MutableItems();
  std::erase_if(finalizers,
                [](const Json& f) { return f.AsString() == api_sim::kDeleteProtection; });
  return claim;
}

Json GeneratedClaim(const Json& pod, const std::string& pod_claim, const Json& claim_template) {
  const Json& given = claim_template["spec"]["metadata"];
  Json meta = Json::MakeObject({{"name", GeneratedClaimName(pod, pod_claim)},
                                {"namespace", api_sim::KeyOf(pod).ns},
                                {"annotations", given["annotations"]}});
  // The template's spec.metadata gives labels and annotations, its spec.spec becomes the spec.
  if (!given["labels"].is_null()) meta["labels"] = given["labels"];
  meta["annotations"][api_sim::kPodClaimName] = pod_claim;
  meta["ownerReferences"] = Json::MakeArray({Json::MakeObject({{"apiVersion", "v1"},
                                                               {"kind", "Pod"},
                                                               {"name", api_sim::KeyOf(pod).name},
                                                               {"uid", api_sim::UidOf(pod)},
                                                               {"controller", true},
                                                               {"blockOwnerDeletion", true}})});
  return Json::MakeObject({{"apiVersion", kube::kResourceClaims.api_version()},
                           {"kind", kube::kResourceClaims.kind},
                           {"metadata", std::move(meta)},
                           {"spec", claim_template["spec"]["spec"]}});
}

// status.resourceClaimStatuses once every claim of `pod` exists.
Json ClaimStatuses(const Json& pod) {
  Json statuses(Json::Array{});
  for (const api_sim::PodClaimFacts& claim : api_sim::PodClaims(pod)) {
    if (!claim.from_template()) continue;
    Json status = Json::MakeObject({{"name", claim.name}});
    // An entry without a name means that no claim is needed.
    if (!claim.not_needed) {
      status["resourceClaimName"] = claim.object_name.value_or(GeneratedClaimName(pod, claim.name));
    }
    statuses.Append(std::move(status));
  }
  return statuses;
}

}  // namespace

std::string GeneratedClaimName(const Json& pod, const std::string& pod_claim) {
  Random suffix(Fnv1a(api_sim::UidOf(pod) + "/" + pod_claim));
  std::string base = api_sim::KeyOf(pod).name + "-" + pod_claim + "-";
  if (base.size() > kNameBaseMax) base.resize(kNameBaseMax);
  return base + suffix.NameSuffix(kClaimSuffixLength);
}

ClaimController::ClaimController(Loop& loop, ClusterView& view, kube::Client& client,
                                 Random& random, Log& log)
    : view_(view),
      log_(log),
      events_(loop, client, random, log, "resource-claim-controller"),
      calls_(loop, client),
      pods_(loop, random, {},
            [this](const ObjectKey& key, Queue::Done done) { LookAtPod(key, std::move(done)); }),
      claims_(loop, random, {}, [this](const ObjectKey& key, Queue::Done done) {
        LookAtClaim(key, std::move(done));
      }) {
  view_.OnSynced([this] { MarkEverything(); });
  view_.pods.AddListener([this](const ObjectKey& key, const Json* before, const Json* after) {
    // Also claims of the former Pod: one change may pass a name from one uid to another.
    pods_.MarkDirty(key);
    if (before != nullptr) MarkClaimsOf(api_sim::UidOf(*before));
    if (after != nullptr) MarkClaimsOf(api_sim::UidOf(*after));
  });
  view_.claims.AddListener([this](const ObjectKey& key, const Json* before, const Json* after) {
    claims_.MarkDirty(key);
    const Json* owner = api_sim::OwnerPod(after != nullptr ? *after : *before);
    // A Pod waits for its claims to appear or go.
    if (owner != nullptr) pods_.MarkDirty({key.ns, (*owner)["name"].AsString()});
  });
  view_.templates.AddListener([this](const ObjectKey& key, const Json*, const Json*) {
    for (const ObjectKey& pod : view_.pods.Lookup(ClusterView::kByTemplate, ToString(key))) {
      pods_.MarkDirty(pod);
    }
  });
}

void ClaimController::MarkEverything() {
  for (const auto& [key, pod] : view_.pods.objects()) pods_.MarkDirty(key);
  for (const auto& [key, claim] : view_.claims.objects()) claims_.MarkDirty(key);
}

void ClaimController::MarkClaimsOf(const std::string& pod_uid) {
  for (const ObjectKey& claim : view_.claims.Lookup(ClusterView::kByPod, pod_uid)) {
    claims_.MarkDirty(claim);
  }
}

void ClaimController::LookAtPod(const ObjectKey& key, Queue::Done done) {
  const Json* pod = view_.pods.Find(key);
  if (!view_.synced() || pod == nullptr) return done(OkStatus());
  if (api_sim::IsBeingDeleted(*pod) || api_sim::IsPodDone(*pod)) return done(OkStatus());
  bool missing_in_status = false;
  for (const api_sim::PodClaimFacts& claim : api_sim::PodClaims(*pod)) {
    if (!claim.from_template() || claim.object_name || claim.not_needed) continue;
    // One claim for each look: its appearance in the view causes the next look.
    if (!Ensure(*pod, claim.name, claim.template_name, done)) return;
    missing_in_status = true;
  }
  if (!missing_in_status) return done(OkStatus());
  // All claims are there but the Pod's status does not name them all. The uid prevents the write
  // from changing a later Pod of this name.
  const Json patch = Json::MakeObject(
      {{"metadata", Json::MakeObject({{"uid", api_sim::UidOf(*pod)}})},
       {"status", Json::MakeObject({{"resourceClaimStatuses", ClaimStatuses(*pod)}})}});
  Write(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kMerge, patch,
                    {.subresource = "status", .field_manager = ""}),
        std::move(done));
}

bool ClaimController::Ensure(const Json& pod, const std::string& pod_claim,
                             const std::string& template_name, const Queue::Done& done) {
  const ObjectKey pod_key = api_sim::KeyOf(pod);
  const Json* claim = view_.claims.Find({pod_key.ns, GeneratedClaimName(pod, pod_claim)});
  if (claim != nullptr) {
    const Json* owner = api_sim::OwnerPod(*claim);
    // The name is derived from the Pod's uid, so a foreign claim with it is an accident or was made
    // by hand.
    const bool ours = owner != nullptr && (*owner)["uid"].AsString() == api_sim::UidOf(pod);
    if (ours && !api_sim::IsBeingDeleted(*claim)) return true;
    // A claim of the same name that is being deleted, or is not ours: its end causes the next look.
    done(FailedPrecondition("resourceclaim {} is in the way", ToString(api_sim::KeyOf(*claim))));
    return false;
  }
  const Json* claim_template = view_.templates.Find({pod_key.ns, template_name});
  if (claim_template == nullptr) {
    events_.Record(pod, EventType::kWarning, "FailedResourceClaimCreation",
                   fmt::format("PodResourceClaim {}: resourceclaimtemplate \"{}\" not found",
                               pod_claim, template_name));
    done(OkStatus());
    return false;
  }
  Create(pod, GeneratedClaim(pod, pod_claim, *claim_template), done);
  return false;
}

void ClaimController::Create(const Json& pod, const Json& claim, Queue::Done done) {
  const ObjectKey key = api_sim::KeyOf(claim);
  calls_.Do(kube::Create(kube::kResourceClaims, key.ns, claim),
            [this, pod, key, done = std::move(done)](const StatusOr<Json>& answer) {
              const Status& status = answer.status();
              // It exists already, and the watch will show it soon.
              if (status.code() == Code::kAlreadyExists) return done(OkStatus());
              if (!status.ok() && !IsRetryable(status)) {
                events_.Record(
                    pod, EventType::kWarning, "FailedResourceClaimCreation",
                    fmt::format("create resourceclaim {}: {}", key.name, status.message()));
              }
              done(status);
            });
}

void ClaimController::LookAtClaim(const ObjectKey& key, Queue::Done done) {
  const Json* claim = view_.claims.Find(key);
  if (!view_.synced() || claim == nullptr) return done(OkStatus());
  // Devices before everything else: a claim that is deleted keeps its finalizer until then.
  if (Json status = WantedStatus(view_, *claim); status != (*claim)["status"]) {
    return Release(*claim, std::move(status), std::move(done));
  }
  if (api_sim::IsBeingDeleted(*claim)) {
    // A running Pod still holds it; its end causes the next look.
    if (!(*claim)["status"]["allocation"].is_null()) return done(OkStatus());
    if (!api_sim::HasFinalizer(*claim, api_sim::kDeleteProtection)) return done(OkStatus());
    return Unprotect(*claim, std::move(done));
  }
  const Json* owner = api_sim::OwnerPod(*claim);
  const bool orphan = owner != nullptr && !Holds(view_, {{key.ns, (*owner)["name"].AsString()},
                                                         (*owner)["uid"].AsString()});
  if (!orphan) return done(OkStatus());
  // With the uid: a new claim of this name must not be deleted instead.
  Write(kube::Delete(
            kube::kResourceClaims, key.ns, key.name,
            {.grace_seconds = std::nullopt, .uid = api_sim::UidOf(*claim), .resource_version = ""}),
        std::move(done));
}

void ClaimController::Release(const Json& claim, Json status, Queue::Done done) {
  Json released = claim;
  released["status"] = std::move(status);
  const bool deallocated = released["status"]["allocation"].is_null();
  calls_.Do(kube::Update(kube::kResourceClaims, released, "status"),
            [this, deallocated, done = std::move(done)](const StatusOr<Json>& answer) {
              if (!answer.ok()) return done(answer.status());
              // Shared claims keep their finalizer while any Pod holds them.
              if (!deallocated || !api_sim::HasFinalizer(*answer, api_sim::kDeleteProtection)) {
                return done(OkStatus());
              }
              // At once and on this version: if somebody allocates it again, the write conflicts.
              Unprotect(*answer, done);
            });
}

void ClaimController::Unprotect(const Json& claim, Queue::Done done) {
  Write(kube::Update(kube::kResourceClaims, WithoutFinalizer(claim)), std::move(done));
}

void ClaimController::Write(net::HttpRequest request, Queue::Done done) {
  calls_.Do(std::move(request), [done = std::move(done)](const StatusOr<Json>& answer) {
    done(answer.status().code() == Code::kNotFound ? OkStatus() : answer.status());
  });
}

}  // namespace galen::cluster_sim
