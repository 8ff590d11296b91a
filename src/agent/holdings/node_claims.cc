#include "agent/holdings/node_claims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/objects/resource_claim.h"
#include "kube/request.h"

namespace galen::agent {

NodeClaims::NodeClaims(Edges edges, std::function<void(const ObjectKey&)> on_change,
                       std::function<void()> on_answer)
    : edges_(edges),
      on_change_(std::move(on_change)),
      on_answer_(std::move(on_answer)),
      queue_(edges.loop, edges.random, {.backoff = kBackoff},
             [this](const ObjectKey& claim, Done done) { Look(claim, std::move(done)); }) {}

void NodeClaims::PodChanged(const ObjectKey& key, const kube::Pod* pod) {
  Holder holder;
  if (pod != nullptr) {
    const std::vector<ObjectKey> named = ClaimKeysOf(*pod);
    holder = {pod->meta.uid, pod->group, HasEnded(*pod), {named.begin(), named.end()}};
  }
  const std::set<ObjectKey> before = std::exchange(pods_[key], holder).claims;
  for (const ObjectKey& claim : before) {
    if (!holder.claims.contains(claim)) Unwant(claim, key);
  }
  for (const ObjectKey& claim : holder.claims) Want(claim, key);
  if (holder.claims.empty()) pods_.erase(key);
}

const Claim* NodeClaims::Find(const ObjectKey& key) const {
  const auto it = claims_.find(key);
  return it == claims_.end() ? nullptr : &it->second;
}

std::string NodeClaims::trouble() const {
  if (troubles_.empty()) return full_ ? "too many claims on this node" : "";
  return ToString(troubles_.begin()->first) + ": " + troubles_.begin()->second;
}

void NodeClaims::Want(const ObjectKey& claim, const ObjectKey& pod) {
  if (!pods_of_.contains(claim)) {
    if (pods_of_.size() >= kClaimsMax) {
      if (std::exchange(full_, true)) return;
      return edges_.log.Error("too many claims on this node, the rest waits for room",
                              {{"limit", kClaimsMax}, {"claim", ToString(claim)}});
    }
    unanswered_.insert(claim);
  }
  pods_of_[claim].insert(pod);
  if (IsOpen(claim)) queue_.MarkDirty(claim);
}

void NodeClaims::WantWaiting() {
  bool waits = false;
  for (const auto& [pod, holder] : pods_) {
    for (const ObjectKey& claim : holder.claims) {
      const auto it = pods_of_.find(claim);
      if (it != pods_of_.end() && it->second.contains(pod)) continue;
      if (it == pods_of_.end() && pods_of_.size() >= kClaimsMax) {
        waits = true;
      } else {
        Want(claim, pod);
      }
    }
  }
  full_ = waits;
  if (!full_) edges_.log.Info("the claims of this node have room again", {{"limit", kClaimsMax}});
}

void NodeClaims::Unwant(const ObjectKey& claim, const ObjectKey& pod) {
  const auto it = pods_of_.find(claim);
  if (it == pods_of_.end()) return;  // past the limit
  it->second.erase(pod);
  if (!it->second.empty()) return;
  pods_of_.erase(it);
  claims_.erase(claim);
  troubles_.erase(claim);
  const bool was_unanswered = unanswered_.erase(claim) > 0;
  if (full_) WantWaiting();
  // Later: whoever told of the Pod is not done with it.
  if (was_unanswered) answer_ = edges_.loop.After(Duration::zero(), [this] { on_answer_(); });
}

bool NodeClaims::IsOpen(const ObjectKey& claim) const {
  return unanswered_.contains(claim) || SomePodWaits(claim);
}

// A Pod that has ended waits for nothing: what it had is taken from it.
bool NodeClaims::SomePodWaits(const ObjectKey& claim) const {
  const auto it = pods_of_.find(claim);
  if (it == pods_of_.end()) return false;
  const Claim* known = Find(claim);
  return std::ranges::any_of(it->second, [&](const ObjectKey& pod) {
    const Holder& holder = pods_.at(pod);
    return !holder.ended && (known == nullptr || !IsHeldBy(*known, holder.uid, holder.group));
  });
}

void NodeClaims::Look(const ObjectKey& claim, Done done) {
  if (!IsOpen(claim)) return done(OkStatus());
  calls_[claim] = edges_.client.Do(
      kube::Get(kube::kResourceClaims, claim.ns, claim.name),
      [this, claim, done](const StatusOr<Json>& reply) { OnAnswer(claim, reply, done); });
}

void NodeClaims::OnAnswer(const ObjectKey& claim, const StatusOr<Json>& reply, Done done) {
  calls_.erase(claim);
  if (!pods_of_.contains(claim)) return done(OkStatus());
  const Status taken = TakeIn(claim, reply);
  if (IsRetryable(taken)) return done(taken);
  // Also a refusal is an answer: the agent goes on with what it may see.
  const bool first = unanswered_.erase(claim) > 0;
  if (taken.ok()) {
    troubles_.erase(claim);
  } else if (std::exchange(troubles_[claim], taken.message()) != taken.message()) {
    edges_.log.Warning("claim cannot be read",
                       {{"claim", ToString(claim)}, {"error", taken.message()}});
  }
  done(SomePodWaits(claim) ? Unavailable("claim {} is not there yet", ToString(claim))
                           : OkStatus());
  if (first) on_answer_();
}

// OK when the server has told of the claim, be it that there is none.
Status NodeClaims::TakeIn(const ObjectKey& claim, const StatusOr<Json>& reply) {
  if (reply.status().code() == Code::kNotFound) {
    Replace(claim, std::nullopt);
    return OkStatus();
  }
  RETURN_IF_ERROR(reply.status());
  ASSIGN_OR_RETURN(Claim decoded, kube::DecodeClaim(*reply));
  Replace(claim, std::move(decoded));
  return OkStatus();
}

void NodeClaims::Replace(const ObjectKey& key, std::optional<Claim> claim) {
  const Claim* known = Find(key);
  const bool equal = known == nullptr ? !claim : claim && *claim == *known;
  if (equal) return;
  if (claim) {
    claims_.insert_or_assign(key, *std::move(claim));
  } else {
    claims_.erase(key);
  }
  on_change_(key);
}

}  // namespace galen::agent
