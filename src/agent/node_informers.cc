// Tested by agent_app_test.cc, against an API.
#include "agent/node_informers.h"

#include <utility>

namespace galen::agent {
namespace {

// Attributes and capacities are most of a slice, and nobody here asks for them.
StatusOr<SliceIdentities> DecodeIdentities(const Json& object) {
  ASSIGN_OR_RETURN(const kube::ResourceSlice slice, kube::DecodeSlice(object));
  SliceIdentities identities;
  for (const kube::SliceDevice& device : slice.devices) {
    identities.devices.push_back(kube::IdentityOf(slice, device));
  }
  return identities;
}

kube::Watcher::Options OfNode(const kube::Resource& resource, const std::string& node) {
  return {.resource = resource, .selectors = {.field = "spec.nodeName=" + node}};
}

}  // namespace

NodeInformers::NodeInformers(Loop& loop, Log& log, Random& random, kube::Client& client,
                             const std::string& node, ClusterListener& listener)
    : log_(log),
      listener_(listener),
      pods_(loop, client, random, OfNode(kube::kPods, node), kube::DecodePod),
      slices_(loop, client, random, OfNode(kube::kResourceSlices, node), DecodeIdentities),
      claims_(
          {loop, random, log, client}, [this](const ObjectKey& key) { listener_.OnClaim(key); },
          [this] { OnSomeSynced(); }) {
  pods_.AddListener([this](const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) {
    claims_.PodChanged(key, after);
    listener_.OnPod(key, before, after);
  });
  slices_.AddListener(
      [this](const ObjectKey&, const SliceIdentities* before, const SliceIdentities* after) {
        IndexIdentities(before, after);
        listener_.OnIdentities();
      });
  Wire(pods_, "pods");
  Wire(slices_, "resourceslices");
}

void NodeInformers::Start() {
  pods_.Start();
  slices_.Start();
}

std::vector<std::string> NodeInformers::troubles() const {
  std::vector<std::string> all;
  for (const auto& [kind, trouble] : troubles_) all.push_back("watch " + kind + ": " + trouble);
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
  return it == identities_.end() ? std::nullopt : std::optional(it->second);
}

template <typename T>
void NodeInformers::Wire(kube::Informer<T>& informer, const std::string& kind) {
  informer.OnSynced([this] { OnSomeSynced(); });
  informer.OnWatchTrouble([this, kind](const Status& status) { OnTrouble(kind, status); });
  informer.OnWatchWell([this, kind] { OnWell(kind); });
}

void NodeInformers::OnTrouble(const std::string& kind, const Status& status) {
  std::string& trouble = troubles_[kind];
  if (std::exchange(trouble, status.message()) == status.message()) return;
  log_.Warning("watch is in trouble", {{"kind", kind}, {"error", status.message()}});
}

// From now on the same trouble is news again.
void NodeInformers::OnWell(const std::string& kind) {
  if (troubles_.erase(kind) > 0) log_.Info("watch is well again", {{"kind", kind}});
}

void NodeInformers::OnSomeSynced() {
  if (synced_ || !pods_.synced() || !slices_.synced() || !claims_.settled()) return;
  synced_ = true;
  listener_.OnSynced();
}

void NodeInformers::IndexIdentities(const SliceIdentities* before, const SliceIdentities* after) {
  // Taken out first: a device that moved from one slice to another comes in again by its own.
  if (before != nullptr) {
    for (const DeviceIdentity& device : before->devices) identities_.erase(device.id);
  }
  if (after != nullptr) {
    for (const DeviceIdentity& device : after->devices) identities_[device.id] = device;
  }
}

}  // namespace galen::agent
