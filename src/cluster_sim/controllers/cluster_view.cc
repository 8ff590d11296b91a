#include "cluster_sim/controllers/cluster_view.h"

#include "api_sim/objects/pod_facts.h"

namespace galen::cluster_sim {
namespace {

// managedFields are the largest part of many objects and not used here.
StatusOr<Json> Slim(const Json& object) {
  Json slim = object;
  slim["metadata"].Erase("managedFields");
  return slim;
}

// No key for a Pod that is done, which saves memory. A Pod without a node is indexed under "".
std::vector<std::string> NodeOf(const Json& pod) {
  if (api_sim::IsPodDone(pod)) return {};
  return {pod["spec"]["nodeName"].AsString()};
}

// The keys under which an index lists an object.
std::vector<std::string> TemplatesOf(const Json& pod) {
  std::vector<std::string> keys;
  for (const api_sim::PodClaimFacts& claim : api_sim::PodClaims(pod)) {
    if (claim.from_template())
      keys.push_back(ToString(ObjectKey{api_sim::KeyOf(pod).ns, claim.template_name}));
  }
  return keys;
}

std::vector<std::string> ClaimsOf(const Json& pod) {
  std::vector<std::string> keys;
  for (const api_sim::PodClaimFacts& claim : api_sim::PodClaims(pod)) {
    if (claim.object_name)
      keys.push_back(ToString(ObjectKey{api_sim::KeyOf(pod).ns, *claim.object_name}));
  }
  const std::string& extended =
      pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"].AsString();
  if (!extended.empty()) keys.push_back(ToString(ObjectKey{api_sim::KeyOf(pod).ns, extended}));
  return keys;
}

std::vector<std::string> PodsOfClaim(const Json& claim) {
  std::vector<std::string> uids;
  for (const Json& holder : claim["status"]["reservedFor"].items()) {
    uids.push_back(holder["uid"].AsString());
  }
  if (const Json* owner = api_sim::OwnerPod(claim)) uids.push_back((*owner)["uid"].AsString());
  return uids;
}

kube::Watcher::Options Follow(const kube::Resource& resource) {
  return {.resource = resource, .ns = "", .selectors = {}};
}

}  // namespace

ClusterView::ClusterView(Loop& loop, kube::Client& client, Random& random, Log& log)
    : pods(loop, client, random, Follow(kube::kPods), Slim),
      nodes(loop, client, random, Follow(kube::kNodes), Slim),
      claims(loop, client, random, Follow(kube::kResourceClaims), Slim),
      templates(loop, client, random, Follow(kube::kResourceClaimTemplates), Slim),
      classes(loop, client, random, Follow(kube::kDeviceClasses), Slim),
      slices(loop, client, random, Follow(kube::kResourceSlices), Slim),
      taint_rules(loop, client, random, Follow(kube::kDeviceTaintRules), Slim) {
  pods.AddIndex(kByNode, NodeOf);
  pods.AddIndex(kByTemplate, TemplatesOf);
  pods.AddIndex(kByClaim, ClaimsOf);
  claims.AddIndex(kByPod, PodsOfClaim);
  Prepare(pods, "pods", log);
  Prepare(nodes, "nodes", log);
  Prepare(claims, "resourceclaims", log);
  Prepare(templates, "resourceclaimtemplates", log);
  Prepare(classes, "deviceclasses", log);
  Prepare(slices, "resourceslices", log);
  Prepare(taint_rules, "devicetaintrules", log);
}

void ClusterView::Prepare(Kind& kind, std::string_view name, Log& log) {
  kind.OnSynced([this] {
    if (!synced()) return;
    for (const auto& callback : on_synced_) callback();
  });
  kind.OnWatchTrouble([&log, name](const Status& status) {
    log.Warning("controllers cannot follow a kind", {{"kind", name}, {"error", ToString(status)}});
  });
}

void ClusterView::Start() {
  for (Kind* kind : {&pods, &nodes, &claims, &templates, &classes, &slices, &taint_rules}) {
    kind->Start();
  }
}

bool ClusterView::synced() const {
  return pods.synced() && nodes.synced() && claims.synced() && templates.synced() &&
         classes.synced() && slices.synced() && taint_rules.synced();
}

}  // namespace galen::cluster_sim
