// Tested by agent_app_test.cc, against an API.
#include "agent/holdings/node_informers.h"

#include <utility>

namespace galen::agent {
namespace {

// Attributes and capacities are most of a slice, and nobody here asks for them.
StatusOr<SliceIdentities> DecodeIdentities(const Json& object) {
  ASSIGN_OR_RETURN(const kube::ResourceSlice slice, kube::DecodeSlice(object));
  SliceIdentities identities{.driver = slice.driver, .pool = slice.pool, .devices = {}};
  identities.devices.reserve(slice.devices.size());
  for (const kube::SliceDevice& device : slice.devices) {
    DeviceIdentity identity = kube::IdentityOf(slice, device);
    identities.devices.push_back(
        {device.name, std::move(identity.serial), std::move(identity.model)});
  }
  return identities;
}

constexpr const char* kPods = "pods";

kube::Watcher::Options OfNode(const kube::Resource& resource, const std::string& node) {
  return {.resource = resource, .selectors = {.field = "spec.nodeName=" + node}};
}

}  // namespace

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
  slices_.AddListener(
      [this](const ObjectKey&, const SliceIdentities* before, const SliceIdentities* after) {
        IndexIdentities(before, after);
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
    // What hinders the watch names it; what could not be decoded names its object.
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
  const auto it = identities_.find(id);
  if (it == identities_.end()) return std::nullopt;
  return DeviceIdentity{id, it->second.serial, it->second.model};
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
    // A connection that died without a word is noticed late.
    const Time now = loop_.Now();
    const Duration unheard = now - pods_.last_contact().value_or(now);
    if (!pods_unseen_since_) pods_unseen_since_ = loop_.WallNow() - unheard;
  }
  std::string& trouble = troubles_[kind];
  if (std::exchange(trouble, status.message()) == status.message()) return;
  log_.Warning("watch is in trouble", {{"kind", kind}, {"error", status.message()}});
}

// From now on the same trouble is news again.
void NodeInformers::OnWell(const std::string& kind) {
  if (kind == kPods && pods_unseen_since_) {
    listener_->OnServerBack();
    caught_up_ = loop_.After(kCatchUp, [this] { pods_unseen_since_.reset(); });
  }
  if (troubles_.erase(kind) > 0) log_.Info("watch is well again", {{"kind", kind}});
}

void NodeInformers::OnSomeSynced() {
  if (synced_ || !pods_.synced() || !slices_.synced() || !claims_.settled()) return;
  synced_ = true;
  listener_->OnSynced();
}

void NodeInformers::IndexIdentities(const SliceIdentities* before, const SliceIdentities* after) {
  // Taken out first: a device that moved from one slice to another comes in again by its own.
  if (before != nullptr) {
    for (const auto& device : before->devices) {
      identities_.erase({before->driver, before->pool, device.name});
    }
  }
  if (after == nullptr) return;
  for (const auto& device : after->devices) {
    identities_[{after->driver, after->pool, device.name}] = {device.serial, device.model};
  }
}

}  // namespace galen::agent
