#include "agent/manager/virtual_node.h"

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "base/architecture.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// Where the node controller looks for it.
constexpr std::string_view kLeaseNamespace = "kube-node-lease";
constexpr std::string_view kNodeFieldManager = "galen-agent";

kube::PatchOptions Apply(const std::string& subresource) {
  return {
      .subresource = subresource, .field_manager = std::string(kNodeFieldManager), .force = true};
}

// Labelled as virtual, so that DaemonSets and people can distinguish it from a node with a kubelet.
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

Json NewNode(const std::string& node) {
  Json object = NodeObject(node);
  object["spec"]["taints"] = Json::MakeArray({Json::MakeObject(
      {{"key", VirtualNode::kTaint}, {"value", "true"}, {"effect", "NoSchedule"}})});
  return object;
}

bool IsReady(const Json& node) {
  const auto& conditions = node["status"]["conditions"].items();
  return std::ranges::any_of(conditions, [](const Json& condition) {
    return condition["type"].AsString() == "Ready" && condition["status"].AsString() == "True";
  });
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
                                            {"architecture", std::string(kArchitecture)},
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

// One round: what the Node lacks, then the Lease.
void VirtualNode::Look() {
  Read(kube::Get(kube::kNodes, "", node_), [this](const StatusOr<Json>& node) { OnNode(node); });
}

void VirtualNode::OnNode(const StatusOr<Json>& node) {
  if (node.status().code() == Code::kNotFound) return Make();
  if (!node.ok()) return TryLater(node.status());
  if (!labelled_) return Label();
  if (!registered_ || !IsReady(*node)) return SetStatus();
  Renew();
}

void VirtualNode::Make() {
  if (registered_) {
    edges_.log.Warning("virtual node was removed, it is made again", {{"node", node_}});
  }
  registered_ = false;
  Write(kube::Create(kube::kNodes, "", NewNode(node_)), "Node", [this](const Status& status) {
    // Somebody else created the Node meanwhile: it is read.
    if (status.code() == Code::kAlreadyExists) return Look();
    if (!status.ok()) return TryLater(status);
    labelled_ = true;
    SetStatus();
  });
}

void VirtualNode::Label() {
  Write(kube::Patch(kube::kNodes, "", node_, kube::PatchType::kApply, NodeObject(node_), Apply("")),
        "Node", [this](const Status& status) {
          if (!status.ok()) return TryLater(status);
          labelled_ = true;
          SetStatus();
        });
}

void VirtualNode::SetStatus() {
  const Json object = NodeStatus(node_, version_, kPodsMax, edges_.loop.WallNow());
  Write(kube::Patch(kube::kNodes, "", node_, kube::PatchType::kApply, object, Apply("status")),
        "Node", [this](const Status& status) {
          if (!status.ok()) return TryLater(status);
          registered_ = true;
          edges_.log.Info("virtual node is registered and Ready", {{"node", node_}});
          Renew();
        });
}

void VirtualNode::Renew() {
  const Json object = LeaseObject(node_, kLeaseSeconds, edges_.loop.WallNow());
  Write(kube::Patch(kube::kLeases, kLeaseNamespace, node_, kube::PatchType::kApply, object,
                    Apply("")),
        "Lease", [this](const Status& status) {
          if (!status.ok()) return TryLater(status);
          backoff_.Reset();
          trouble_.clear();
          timer_ = edges_.loop.After(kRenewEvery, [this] { Look(); });
        });
}

void VirtualNode::Read(net::HttpRequest request, std::function<void(const StatusOr<Json>&)> done) {
  call_ = edges_.client.Do(
      std::move(request), [this, done = std::move(done)](const StatusOr<Json>& reply) {
        // From the loop: the next call replaces the one that is answering.
        timer_ = edges_.loop.After(Duration::zero(), [done, reply] { done(reply); });
      });
}

void VirtualNode::Write(net::HttpRequest request, const char* kind,
                        std::function<void(const Status&)> done) {
  Read(std::move(request), [this, kind, done = std::move(done)](const StatusOr<Json>& reply) {
    edges_.metrics.Add(metric::kApiWrites,
                       {{"kind", kind}, {"result", reply.ok() ? "ok" : "error"}});
    done(reply.status());
  });
}

void VirtualNode::TryLater(const Status& why) {
  if (std::exchange(trouble_, why.message()) != why.message()) {
    edges_.log.Warning("virtual node cannot be kept up to date",
                       {{"node", node_}, {"error", why.message()}});
  }
  timer_ = edges_.loop.After(backoff_.Next(edges_.random), [this] { Look(); });
}

}  // namespace galen::agent
