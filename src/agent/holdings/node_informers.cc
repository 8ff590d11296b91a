// The informers themselves are tested by agent_app_test.cc, against an API.
#include "agent/holdings/node_informers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/objects/resource_claim.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// Attributes and capacities are most of a slice, and the agent does not use them.
StatusOr<SliceIdentities> DecodeIdentities(const Json& object) {
  ASSIGN_OR_RETURN(const kube::ResourceSlice slice, kube::DecodeSlice(object));
  SliceIdentities identities{
      .driver = slice.driver, .pool = slice.pool, .generation = slice.generation, .devices = {}};
  identities.devices.reserve(slice.devices.size());
  for (const kube::SliceDevice& device : slice.devices) {
    DeviceIdentity identity = kube::IdentityOf(slice, device);
    identities.devices.push_back({device.name, std::move(identity.serial),
                                  std::move(identity.model), kube::HardwareIdsOf(device)});
  }
  std::ranges::sort(identities.devices, {}, &SliceIdentities::Device::name);
  return identities;
}

// The slices by the names of devices that they list. While a device moves from one to another, two
// list it, and their changes arrive in either order.
constexpr const char* kByDevice = "device";

std::vector<std::string> DeviceNames(const SliceIdentities& slice) {
  std::vector<std::string> names;
  for (const SliceIdentities::Device& device : slice.devices) {
    names.push_back(ToString(DeviceId{slice.driver, slice.pool, device.name}));
  }
  return names;
}

// nullptr when `slice` does not list it.
const SliceIdentities::Device* FindIn(const SliceIdentities& slice, const DeviceId& id) {
  if (slice.driver != id.driver || slice.pool != id.pool) return nullptr;
  const auto it =
      std::ranges::lower_bound(slice.devices, id.device, {}, &SliceIdentities::Device::name);
  return it != slice.devices.end() && it->name == id.device ? &*it : nullptr;
}

constexpr const char* kPods = "pods";

kube::Watcher::Options OfNode(const kube::Resource& resource, const std::string& node) {
  return {.resource = resource, .selectors = {.field = "spec.nodeName=" + node}};
}

}  // namespace

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
  const Holder before = std::exchange(pods_[key], {});
  for (const ObjectKey& claim : before.claims) {
    if (!holder.claims.contains(claim)) Unwant(claim, key);
  }
  for (const ObjectKey& claim : holder.claims) {
    const bool is_new = before.uid != holder.uid || !before.claims.contains(claim);
    // What was read or asked for earlier dates from before the Pod.
    const bool is_known = claims_.contains(claim) || calls_.contains(claim);
    if (is_new && is_known) outdated_.insert(claim);
    if (is_new ? is_known : before.unread.contains(claim)) holder.unread.insert(claim);
  }
  const std::set<ObjectKey>& claims = (pods_[key] = std::move(holder)).claims;
  for (const ObjectKey& claim : claims) Want(claim, key);
  if (claims.empty()) pods_.erase(key);
}

const Claim* NodeClaims::Find(const ObjectKey& key) const {
  const auto it = claims_.find(key);
  return it == claims_.end() ? nullptr : &it->second;
}

// A group's claim may have been freed and allocated anew, with the same reservation: what was read
// before the Pod existed does not apply to it, unless it names the Pod itself.
const Claim* NodeClaims::FindFor(const kube::Pod& pod, const ObjectKey& key) const {
  const Claim* claim = Find(key);
  const auto it = pods_.find(pod.meta.key);
  const bool unread =
      it != pods_.end() && it->second.uid == pod.meta.uid && it->second.unread.contains(key);
  return claim != nullptr && unread && !claim->IsReservedFor(pod.meta.uid, "") ? nullptr : claim;
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
  outdated_.erase(claim);
  const bool was_unanswered = unanswered_.erase(claim) > 0;
  if (full_) WantWaiting();
  // In a later turn: the caller has not finished with the Pod yet.
  if (was_unanswered) answer_ = edges_.loop.After(Duration::zero(), [this] { on_answer_(); });
}

bool NodeClaims::IsOpen(const ObjectKey& claim) const {
  return unanswered_.contains(claim) || outdated_.contains(claim) || SomePodWaits(claim);
}

// An ended Pod waits for nothing: its claims are freed.
bool NodeClaims::SomePodWaits(const ObjectKey& claim) const {
  const auto it = pods_of_.find(claim);
  if (it == pods_of_.end()) return false;
  const Claim* known = Find(claim);
  return std::ranges::any_of(it->second, [&](const ObjectKey& pod) {
    const Holder& holder = pods_.at(pod);
    const std::string group = holder.unread.contains(claim) ? "" : holder.group;
    return !holder.ended && (known == nullptr || !IsHeldBy(*known, holder.uid, group));
  });
}

void NodeClaims::Look(const ObjectKey& claim, Done done) {
  if (!IsOpen(claim)) return done(OkStatus());
  const bool was_outdated = outdated_.erase(claim) > 0;
  calls_[claim] = edges_.client.Do(kube::Get(kube::kResourceClaims, claim.ns, claim.name),
                                   [this, claim, was_outdated, done](const StatusOr<Json>& reply) {
                                     if (IsRetryable(reply.status()) && was_outdated) {
                                       outdated_.insert(claim);
                                     }
                                     OnAnswer(claim, reply, done);
                                   });
}

void NodeClaims::OnAnswer(const ObjectKey& claim, const StatusOr<Json>& reply, Done done) {
  calls_.erase(claim);
  if (!pods_of_.contains(claim)) {
    outdated_.erase(claim);
    return done(OkStatus());
  }
  // Asked for before a Pod that names it existed, so it is asked for once more: it may have been
  // allocated anew in between.
  if (reply.ok() && outdated_.contains(claim)) return done(OkStatus());
  const Status taken = TakeIn(claim, reply);
  if (IsRetryable(taken)) return done(taken);
  // A refusal is an answer too: the agent goes on with what it may read.
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

// OK when the server has answered for the claim, also that there is none.
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
  bool is_news = false;
  for (const ObjectKey& pod : pods_of_.at(key)) is_news |= pods_.at(pod).unread.erase(key) > 0;
  const Claim* known = Find(key);
  const bool equal = known == nullptr ? !claim : claim && *claim == *known;
  if (equal && !is_news) return;
  if (claim) {
    claims_.insert_or_assign(key, *std::move(claim));
  } else {
    claims_.erase(key);
  }
  on_change_(key);
}

NodeInformers::NodeInformers(Loop& loop, Log& log, Random& random, kube::Client& client,
                             const std::string& node)
    : loop_(loop),
      log_(log),
      pods_(loop, client, random, OfNode(kube::kPods, node), kube::DecodePod),
      slices_(loop, client, random, OfNode(kube::kResourceSlices, node), DecodeIdentities),
      claims_(
          {loop, random, log, client}, [this](const ObjectKey& key) { listener_->OnClaim(key); },
          [this] { OnSomeSynced(); }) {
  pods_.AddListener([this](const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) {
    claims_.PodChanged(key, after);
    listener_->OnPod(key, before, after);
  });
  slices_.AddIndex(kByDevice, DeviceNames);
  slices_.AddListener([this](const ObjectKey&, const SliceIdentities*, const SliceIdentities*) {
    listener_->OnDevicesChanged();
  });
  Wire(pods_, kPods);
  Wire(slices_, "resourceslices");
}

void NodeInformers::Start(NodeListener& listener) {
  listener_ = &listener;
  pods_.Start();
  slices_.Start();
}

std::vector<std::string> NodeInformers::troubles() const {
  std::vector<std::string> all;
  for (const auto& [kind, trouble] : troubles_) {
    // An error of the watch names its kind; an object that cannot be decoded names only itself.
    const bool named = trouble.starts_with("watch ") || trouble.starts_with("list ");
    all.push_back(named ? trouble : "watch " + kind + ": " + trouble);
  }
  if (const std::string claims = claims_.trouble(); !claims.empty()) {
    all.push_back("read resourceclaims: " + claims);
  }
  return all;
}

void NodeInformers::ForEachPod(const std::function<void(const kube::Pod&)>& visit) const {
  for (const auto& [key, pod] : pods_.objects()) visit(pod);
}

std::optional<DeviceIdentity> NodeInformers::FindIdentity(const DeviceId& id) const {
  std::optional<DeviceIdentity> found;
  std::int64_t newest = 0;
  for (const ObjectKey& key : slices_.Lookup(kByDevice, ToString(id))) {
    const SliceIdentities& slice = *slices_.Find(key);
    const SliceIdentities::Device* device = FindIn(slice, id);
    if (device == nullptr || (found && slice.generation <= newest)) continue;
    newest = slice.generation;
    found = {id, device->serial, device->model};
  }
  return found;
}

std::map<DeviceId, HardwareIds> NodeInformers::OfferedBy(const std::string& driver) const {
  std::map<DeviceId, HardwareIds> offered;
  std::map<DeviceId, std::int64_t> generations;
  for (const auto& [key, slice] : slices_.objects()) {
    if (slice.driver != driver) continue;
    for (const SliceIdentities::Device& device : slice.devices) {
      const DeviceId id{driver, slice.pool, device.name};
      const auto [known, fresh] = generations.try_emplace(id, slice.generation);
      if (!fresh && slice.generation <= known->second) continue;
      known->second = slice.generation;
      offered[id] = device.ids;
    }
  }
  return offered;
}

template <typename T>
void NodeInformers::Wire(kube::Informer<T>& informer, const std::string& kind) {
  informer.OnSynced([this] { OnSomeSynced(); });
  informer.OnWatchTrouble([this, kind](const Status& status) { OnTrouble(kind, status); });
  informer.OnWatchWell([this, kind] { OnWell(kind); });
}

void NodeInformers::OnTrouble(const std::string& kind, const Status& status) {
  if (kind == kPods) {
    caught_up_.Cancel();
    // A connection that died silently is noticed late.
    const Time now = loop_.Now();
    const Duration unheard = now - pods_.last_contact().value_or(now);
    if (!pods_unseen_since_) pods_unseen_since_ = loop_.WallNow() - unheard;
  }
  std::string& trouble = troubles_[kind];
  if (std::exchange(trouble, status.message()) == status.message()) return;
  log_.Warning("watch failed, trying again", {{"kind", kind}, {"error", status.message()}});
}

// The same problem is logged again from now on.
void NodeInformers::OnWell(const std::string& kind) {
  if (kind == kPods && pods_unseen_since_) {
    listener_->OnServerBack();
    caught_up_ = loop_.After(kCatchUp, [this] { pods_unseen_since_.reset(); });
  }
  if (troubles_.erase(kind) > 0) log_.Info("watch works again", {{"kind", kind}});
}

void NodeInformers::OnSomeSynced() {
  if (synced_ || !pods_.synced() || !slices_.synced() || !claims_.settled()) return;
  synced_ = true;
  listener_->OnSynced();
}

}  // namespace galen::agent
