#include "agent/virtual_node.h"

#include <functional>
#include <utility>

#include "agent/agent_metrics.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// Where the node controller looks for it.
constexpr std::string_view kLeaseNamespace = "kube-node-lease";
constexpr std::string_view kFieldManager = "galen-agent";

kube::PatchOptions Apply(const std::string& subresource) {
  return {.subresource = subresource, .field_manager = std::string(kFieldManager), .force = true};
}

// Labelled as virtual, so that DaemonSets and people can tell it from a node with a kubelet.
Json NodeObject(const std::string& node) {
  return Json::MakeObject(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata",
        Json::MakeObject({{"name", node},
                          {"labels", Json::MakeObject({{"kubernetes.io/hostname", node},
                                                       {"kubernetes.io/os", "linux"},
                                                       {"galen.dev/virtual", "true"}})}})}});
}

Json NodeStatus(const std::string& node, const std::string& version, int pods_max, WallTime now) {
  // Pods and nothing else: what matters on this node are devices, which the scheduler counts by
  // claims.
  const Json capacity = Json::MakeObject({{"pods", std::to_string(pods_max)}});
  Json ready = Json::MakeObject({{"type", "Ready"},
                                 {"status", "True"},
                                 {"reason", "AgentReady"},
                                 {"message", "galen-agent manages this node"},
                                 {"lastHeartbeatTime", FormatRfc3339(now)},
                                 {"lastTransitionTime", FormatRfc3339(now)}});
  return Json::MakeObject(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", Json::MakeObject({{"name", node}})},
       {"status",
        Json::MakeObject(
            {{"capacity", capacity},
             {"allocatable", capacity},
             {"addresses",
              Json::MakeArray({Json::MakeObject({{"type", "Hostname"}, {"address", node}})})},
             {"nodeInfo", Json::MakeObject({{"kubeletVersion", "galen-agent-" + version},
                                            {"operatingSystem", "linux"},
                                            {"architecture", "amd64"},
                                            {"kernelVersion", ""},
                                            {"osImage", ""},
                                            {"containerRuntimeVersion", "galen://" + version},
                                            {"kubeProxyVersion", ""},
                                            {"machineID", ""},
                                            {"systemUUID", ""},
                                            {"bootID", ""}})},
             {"conditions", Json::MakeArray({std::move(ready)})}})}});
}

Json LeaseObject(const std::string& node, int seconds, WallTime now) {
  return Json::MakeObject(
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata", Json::MakeObject({{"name", node}, {"namespace", kLeaseNamespace}})},
       {"spec", Json::MakeObject({{"holderIdentity", node},
                                  {"leaseDurationSeconds", seconds},
                                  {"renewTime", FormatRfc3339(now, 6)}})}});
}

}  // namespace

VirtualNode::VirtualNode(Edges edges, std::string node, std::string version)
    : edges_(edges), node_(std::move(node)), version_(std::move(version)) {}

void VirtualNode::Register() {
  Ask(kube::Patch(kube::kNodes, "", node_, kube::PatchType::kApply, NodeObject(node_), Apply("")),
      "Node", [this](const Status& status) {
        status.ok() ? SetStatus() : TryLater(status, &VirtualNode::Register);
      });
}

void VirtualNode::SetStatus() {
  const Json object = NodeStatus(node_, version_, kPodsMax, edges_.loop.WallNow());
  Ask(kube::Patch(kube::kNodes, "", node_, kube::PatchType::kApply, object, Apply("status")),
      "Node", [this](const Status& status) {
        // From the beginning: the Node may have been removed in between.
        if (!status.ok()) return TryLater(status, &VirtualNode::Register);
        registered_ = true;
        edges_.log.Info("virtual node is registered", {{"node", node_}});
        Renew();
      });
}

void VirtualNode::Renew() {
  const Json object = LeaseObject(node_, kLeaseSeconds, edges_.loop.WallNow());
  Ask(kube::Patch(kube::kLeases, kLeaseNamespace, node_, kube::PatchType::kApply, object,
                  Apply("")),
      "Lease", [this](const Status& status) {
        if (!status.ok()) return TryLater(status, &VirtualNode::Renew);
        backoff_.Reset();
        trouble_.clear();
        timer_ = edges_.loop.After(kRenewEvery, [this] { Renew(); });
      });
}

void VirtualNode::Ask(net::HttpRequest request, const char* kind,
                      std::function<void(const Status&)> done) {
  call_ = edges_.client.Do(
      std::move(request), [this, kind, done = std::move(done)](const StatusOr<Json>& reply) {
        edges_.metrics.Add(metric::kApiWrites,
                           {{"kind", kind}, {"result", reply.ok() ? "ok" : "error"}});
        // From the loop: the next call takes the place of the one that is answering.
        timer_ =
            edges_.loop.After(Duration::zero(), [done, status = reply.status()] { done(status); });
      });
}

void VirtualNode::TryLater(const Status& why, void (VirtualNode::*step)()) {
  if (std::exchange(trouble_, why.message()) != why.message()) {
    edges_.log.Warning("virtual node is not kept up", {{"node", node_}, {"error", why.message()}});
  }
  timer_ = edges_.loop.After(backoff_.Next(edges_.random), [this, step] { (this->*step)(); });
}

}  // namespace galen::agent
