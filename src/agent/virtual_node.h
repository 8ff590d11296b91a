// A node that exists without a kubelet: registers itself, says it is Ready, and renews its Lease
// so that everybody believes it. Manager role only; belongs to the agent's loop.
#pragma once

#include <memory>
#include <string>

#include "base/backoff.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "kube/client.h"

namespace galen::agent {

class VirtualNode {
 public:
  // As a kubelet's: four missed renewals are a node that is gone.
  static constexpr Duration kRenewEvery = std::chrono::seconds(10);
  static constexpr int kLeaseSeconds = 40;
  static constexpr int kPodsMax = 110;

  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    kube::Client& client;
  };

  VirtualNode(Edges edges, std::string node, std::string version);

  void Start() { Register(); }
  bool registered() const { return registered_; }
  // What hinders; "" when nothing does.
  const std::string& trouble() const { return trouble_; }

 private:
  void Register();
  void SetStatus();
  void Renew();
  void Ask(net::HttpRequest request, const char* kind, std::function<void(const Status&)> done);
  void TryLater(const Status& why, void (VirtualNode::*step)());

  Edges edges_;
  const std::string node_;
  const std::string version_;
  Backoff backoff_{{.first = std::chrono::milliseconds(250), .most = std::chrono::seconds(10)}};
  bool registered_ = false;
  std::string trouble_;
  std::unique_ptr<net::HttpCall> call_;
  Timer timer_;
};

}  // namespace galen::agent
