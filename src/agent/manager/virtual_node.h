// A node that exists without a kubelet: registers itself, says it is Ready, and renews its Lease,
// so that the cluster keeps it Ready. Before each renewal it looks at its Node, as a kubelet does:
// the cluster turns a node that was out of reach to Unknown, and a renewal alone does not turn it
// back. Manager role only; belongs to the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/api_edges.h"
#include "base/loop/backoff.h"
#include "base/loop/loop.h"

namespace galen::agent {

// All writes are server-side applies with force, so each can be repeated. Never gives up: a node
// that is not renewed loses its Pods.
class VirtualNode {
 public:
  // As a kubelet's (lease of 40 s, renewed each 10 s): four missed renewals are a node that is
  // gone.
  static constexpr Duration kRenewEvery = std::chrono::seconds(10);
  static constexpr int kLeaseSeconds = 40;
  // The kubelet's default of maxPods; the only capacity that the node has.
  static constexpr int kPodsMax = 110;
  // Keeps away Pods that would run on every node, such as those of DaemonSets. Set only when the
  // Node is made, so that an operator may remove it later.
  static constexpr std::string_view kTaint = "galen.dev/virtual";

  using Edges = ApiEdges;

  VirtualNode(Edges edges, std::string node, std::string version);

  void Start() { Look(); }
  // Whether the Node was written and said to be Ready, and is not known to be gone since.
  bool registered() const { return registered_; }
  // What is wrong, as a sentence; "" when nothing is. A lease that cannot be renewed counts: after
  // four failures in a row the node counts as gone.
  const std::string& trouble() const { return trouble_; }

 private:
  // Look, then what the Node lacks, then Renew: in this order, for ever. One call is under way at a
  // time.
  void Look();
  void OnNode(const StatusOr<Json>& node);
  void Make();
  void Label();
  void SetStatus();
  void Renew();
  void Read(net::HttpRequest request, std::function<void(const StatusOr<Json>&)> done);
  void Write(net::HttpRequest request, const char* kind, std::function<void(const Status&)> done);
  void TryLater(const Status& why);

  Edges edges_;
  const std::string node_;
  const std::string version_;
  Backoff backoff_{{.first = std::chrono::milliseconds(250), .most = std::chrono::seconds(10)}};
  bool registered_ = false;
  bool labelled_ = false;  // by this process, or made by it
  std::string trouble_;
  std::unique_ptr<net::HttpCall> call_;
  Timer timer_;
};

}  // namespace galen::agent
