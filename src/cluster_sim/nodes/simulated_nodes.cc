#include "cluster_sim/nodes/simulated_nodes.h"

#include <algorithm>

#include "api_sim/objects/pod_facts.h"
#include "api_sim/serving/api_server.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::cluster_sim {
namespace {

constexpr const char* kSimulatedLabel = "galen.dev/simulated";

// 10.64.0.0/16 for nodes and 10.128.0.0/9 for Pods: only shown, never routed.
std::string NodeAddress(std::size_t index) {
  return fmt::format("10.64.{}.{}", index / 250 % 250, index % 250 + 1);
}
std::string PodAddress(std::size_t index) {
  return fmt::format("10.{}.{}.{}", 128 + index / 62'500 % 128, index / 250 % 250, index % 250 + 1);
}

Json ReadyCondition(const Json& before, bool ready, const std::string& now) {
  const char* status = ready ? "True" : "False";
  const bool same = before["status"].AsString() == status;
  return Json::MakeObject(
      {{"type", "Ready"},
       {"status", status},
       {"reason", ready ? "KubeletReady" : "KubeletNotReady"},
       {"message", ready ? "simulated node is ready" : "simulated node was set to not ready"},
       {"lastHeartbeatTime", now},
       {"lastTransitionTime", same ? before["lastTransitionTime"] : Json(now)}});
}

// The node controller's message, in a real cluster, for a node whose heartbeat stopped.
Json AbandonedPatch(const Json& before, const std::string& now) {
  const Json unknown = Json::MakeObject({{"type", "Ready"},
                                         {"status", "Unknown"},
                                         {"reason", "NodeStatusUnknown"},
                                         {"message", "nothing simulates this node any more"},
                                         {"lastHeartbeatTime", before["lastHeartbeatTime"]},
                                         {"lastTransitionTime", now}});
  return Json::MakeObject(
      {{"status", Json::MakeObject({{"conditions", Json::MakeArray({unknown})}})}});
}

bool IsSimulated(const Json& node) {
  return node["metadata"]["labels"][kSimulatedLabel].AsString() == "true";
}

Json NodeObject(const SimulatedNodeOptions& options) {
  Json labels = Json::MakeObject({{"kubernetes.io/hostname", options.name},
                                  {"kubernetes.io/os", "linux"},
                                  {kSimulatedLabel, "true"}});
  for (const auto& [key, value] : options.labels) labels[key] = value;
  return Json::MakeObject(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", Json::MakeObject({{"name", options.name}, {"labels", std::move(labels)}})},
       {"spec", Json(Json::Object{})}});
}

Json NodeStatusPatch(const SimulatedNodeOptions& options, std::size_t index, const Json& ready) {
  const Json room = Json::MakeObject(
      {{"cpu", "64"}, {"memory", "256Gi"}, {"pods", fmt::format("{}", options.pods_max)}});
  const Json address = Json::MakeObject({{"type", "InternalIP"}, {"address", NodeAddress(index)}});
  const Json host = Json::MakeObject({{"type", "Hostname"}, {"address", options.name}});
  const Json info = Json::MakeObject({{"kubeletVersion", api_sim::kKubernetesVersion},
                                      {"osImage", "simulated"},
                                      {"kernelVersion", "simulated"},
                                      {"containerRuntimeVersion", "hollow://1"},
                                      {"operatingSystem", "linux"},
                                      {"architecture", "amd64"}});
  return Json::MakeObject(
      {{"status", Json::MakeObject({{"capacity", room},
                                    {"allocatable", room},
                                    {"addresses", Json::MakeArray({address, host})},
                                    {"nodeInfo", info},
                                    {"conditions", Json::MakeArray({ready})}})}});
}

bool IsStarted(const Json& pod) { return pod["status"]["phase"].AsString() == "Running"; }

}  // namespace

SimulatedNodes::SimulatedNodes(Loop& loop, ClusterView& view, kube::Client& client, Random& random,
                               Log& log, PodPreparation& preparation)
    : loop_(loop),
      view_(view),
      log_(log),
      preparation_(preparation),
      calls_(loop, client),
      node_queue_(loop, random, {},
                  [this](const std::string& name, NodeQueue::Done done) {
                    LookAtNode(name, std::move(done));
                  }),
      pod_queue_(loop, random, {}, [this](const ObjectKey& key, PodQueue::Done done) {
        LookAtPod(key, std::move(done));
      }) {
  view_.OnSynced([this] {
    for (const auto& [name, node] : nodes_) node_queue_.MarkDirty(name);
    // Nodes of an earlier run, whose stored state had others.
    for (const auto& [key, node] : view_.nodes.objects()) {
      if (IsSimulated(node)) node_queue_.MarkDirty(key.name);
    }
    for (const auto& [key, pod] : view_.pods.objects()) pod_queue_.MarkDirty(key);
  });
  view_.nodes.AddListener([this](const ObjectKey& key, const Json*, const Json*) {
    if (nodes_.contains(key.name)) node_queue_.MarkDirty(key.name);
  });
  view_.pods.AddListener([this](const ObjectKey& key, const Json* before, const Json* after) {
    // The last event of a Pod: drops its data.
    if (before != nullptr && after == nullptr) {
      unprepared_.erase(api_sim::UidOf(*before));
      crashes_.erase(key);
    }
    if (after != nullptr && Runs(*after)) pod_queue_.MarkDirty(key);
  });
  view_.claims.AddListener([this](const ObjectKey& key, const Json*, const Json*) {
    // A Pod's start waits for its claims to be allocated and reserved.
    for (const ObjectKey& pod : view_.pods.Lookup(ClusterView::kByClaim, ToString(key))) {
      pod_queue_.MarkDirty(pod);
    }
  });
}

Status SimulatedNodes::Add(SimulatedNodeOptions options) {
  if (!IsDnsSubdomain(options.name)) {
    return InvalidArgument("\"{}\" is no node name: lower-case letters, digits, - and .",
                           Printable(CutText(options.name, 64)));
  }
  if (nodes_.size() == kNodesMax) {
    return ResourceExhausted("at most {} nodes are simulated", kNodesMax);
  }
  const std::string name = options.name;
  Node node{.options = std::move(options), .ready = true, .index = nodes_.size()};
  if (!nodes_.emplace(name, std::move(node)).second) {
    return AlreadyExists("node {} is simulated already", name);
  }
  node_queue_.MarkDirty(name);
  return OkStatus();
}

Status SimulatedNodes::SetReady(const std::string& node, bool ready) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return NotFound("node {} is not simulated here", node);
  it->second.ready = ready;
  node_queue_.MarkDirty(node);
  return OkStatus();
}

void SimulatedNodes::Crash(const ObjectKey& pod, const std::string& container, int exit_code) {
  crashes_[pod].push_back({container, exit_code});
  pod_queue_.MarkDirty(pod);
}

bool SimulatedNodes::Runs(const Json& pod) const {
  const auto node = nodes_.find(pod["spec"]["nodeName"].AsString());
  return node != nodes_.end() && !node->second.options.is_virtual;
}

void SimulatedNodes::LookAtNode(const std::string& name, NodeQueue::Done done) {
  if (!view_.synced()) return done(OkStatus());
  const auto answer = [done](const StatusOr<Json>& result) {
    // Another look, or an earlier run, created it first: the watch shows it.
    const bool there = result.status().code() == Code::kAlreadyExists;
    done(there ? OkStatus() : result.status());
  };
  const Json* node = view_.nodes.Find({"", name});
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return AbandonNode(name, node, answer);
  const Node& wanted = found->second;
  if (node == nullptr) {
    return calls_.Do(kube::Create(kube::kNodes, "", NodeObject(wanted.options)), answer);
  }
  // Only readiness is kept up to date; a status with readiness was written completely.
  const Json& before = api_sim::FindCondition((*node)["status"]["conditions"], "Ready");
  if (before["status"].AsString() == (wanted.ready ? "True" : "False")) return done(OkStatus());
  const Json ready = ReadyCondition(before, wanted.ready, FormatRfc3339(loop_.WallNow()));
  calls_.Do(kube::Patch(kube::kNodes, "", name, kube::PatchType::kStrategic,
                        NodeStatusPatch(wanted.options, wanted.index, ready),
                        {.subresource = "status", .field_manager = ""}),
            answer);
}

void SimulatedNodes::AbandonNode(const std::string& name, const Json* node,
                                 const ApiCalls::Answer& answer) {
  if (node == nullptr) return answer(Json());
  const Json& before = api_sim::FindCondition((*node)["status"]["conditions"], "Ready");
  if (before["status"].AsString() == "Unknown") return answer(Json());
  calls_.Do(kube::Patch(kube::kNodes, "", name, kube::PatchType::kStrategic,
                        AbandonedPatch(before, FormatRfc3339(loop_.WallNow())),
                        {.subresource = "status", .field_manager = ""}),
            answer);
}

void SimulatedNodes::LookAtPod(const ObjectKey& key, PodQueue::Done done) {
  const Json* pod = view_.pods.Find(key);
  if (!view_.synced() || pod == nullptr || !Runs(*pod)) {
    crashes_.erase(key);
    return done(OkStatus());
  }
  // Deletion first, so that a Pod that is deleted while it starts is not started.
  if (api_sim::IsBeingDeleted(*pod) || api_sim::IsPodDone(*pod))
    return StopPod(*pod, std::move(done));
  if (IsStarted(*pod)) {
    if (crashes_.contains(key)) return CrashPod(*pod, std::move(done));
    return done(OkStatus());
  }
  if (!ClaimsAreReady(*pod)) return done(OkStatus());
  StartPod(*pod, std::move(done));
}

bool SimulatedNodes::ClaimsAreReady(const Json& pod) const {
  const std::vector<api_sim::PodClaimFacts> entries = api_sim::PodClaims(pod);
  return std::all_of(entries.begin(), entries.end(), [&](const api_sim::PodClaimFacts& entry) {
    if (entry.not_needed) return true;
    const Json* claim = view_.claims.Find({api_sim::KeyOf(pod).ns, entry.object_name.value_or("")});
    if (claim == nullptr || (*claim)["status"]["allocation"].is_null()) return false;
    return api_sim::IsReservedForPodOrItsGroup(*claim, pod);
  });
}

void SimulatedNodes::StartPod(const Json& pod, PodQueue::Done done) {
  preparation_.Prepare(pod, [this, pod, done = std::move(done)](const Status& status) {
    if (!status.ok()) return done(Unavailable("prepare claims: {}", status.message()));
    const Node& node = nodes_.at(pod["spec"]["nodeName"].AsString());
    PatchPod(pod,
             RunningPatch(pod, {.host_ip = NodeAddress(node.index),
                                .pod_ip = PodAddress(last_pod_address_++),
                                .now = loop_.WallNow()}),
             done);
  });
}

void SimulatedNodes::StopPod(const Json& pod, PodQueue::Done done) {
  crashes_.erase(api_sim::KeyOf(pod));
  // For every Pod that ends, whether its claims were prepared by this process, by an earlier one,
  // or not at all.
  if (!unprepared_.contains(api_sim::UidOf(pod))) {
    return preparation_.Unprepare(pod, [this, pod, done = std::move(done)](const Status& status) {
      if (!status.ok()) return done(Unavailable("unprepare claims: {}", status.message()));
      unprepared_.insert(api_sim::UidOf(pod));
      // Again from the top, now without prepared claims: the deletion follows.
      StopPod(pod, done);
    });
  }
  // It ended by itself: the object stays for people to read.
  if (!api_sim::IsBeingDeleted(pod)) return done(OkStatus());
  const ObjectKey key = api_sim::KeyOf(pod);
  // As a kubelet does when all containers ended: grace period 0, so that the Pod is removed.
  calls_.Do(kube::Delete(kube::kPods, key.ns, key.name,
                         {.grace_seconds = 0, .uid = api_sim::UidOf(pod), .resource_version = ""}),
            [done = std::move(done)](const StatusOr<Json>& answer) {
              done(answer.status().code() == Code::kNotFound ? OkStatus() : answer.status());
            });
}

void SimulatedNodes::CrashPod(const Json& pod, PodQueue::Done done) {
  const ObjectKey key = api_sim::KeyOf(pod);
  const CrashOrder order = crashes_.at(key).front();
  const StatusOr<Json> patch = CrashPatch(pod, order.container, order.exit_code, loop_.WallNow());
  // The Pod may have gone meanwhile, with all its orders.
  const auto drop = [this, key] {
    const auto it = crashes_.find(key);
    if (it == crashes_.end()) return;
    it->second.erase(it->second.begin());
    if (it->second.empty()) crashes_.erase(it);
  };
  if (!patch.ok()) {
    // Repeating cannot help: the container is not there or does not run.
    log_.Warning("crash order dropped", {{"error", patch.status().message()}});
    drop();
    return done(OkStatus());
  }
  // The order is dropped once it is written; a conflict looks again and tries on the newer state.
  PatchPod(pod, *patch, [drop, done = std::move(done)](const Status& status) {
    if (status.ok()) drop();
    done(status);
  });
}

void SimulatedNodes::PatchPod(const Json& pod, const Json& patch, PodQueue::Done done) {
  const ObjectKey key = api_sim::KeyOf(pod);
  calls_.Do(kube::Patch(kube::kPods, key.ns, key.name, kube::PatchType::kStrategic, patch,
                        {.subresource = "status", .field_manager = ""}),
            [done = std::move(done)](const StatusOr<Json>& answer) {
              done(answer.status().code() == Code::kNotFound ? OkStatus() : answer.status());
            });
}

}  // namespace galen::cluster_sim
