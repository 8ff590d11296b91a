// The fleet kept up to date by watches, for commands that stay. Belongs to its session's thread.
#pragma once

#include <functional>

#include "base/random.h"
#include "cli/fleet.h"
#include "cli/session.h"
#include "kube/informer.h"
#include "kube/objects/node_device_health.h"
#include "kube/objects/resource_claim.h"

namespace galen::cli {

class LiveFleet {
 public:
  // `on_change` runs on the session's loop after anything changed; many changes of one turn are
  // one.
  LiveFleet(Session& session, Random& random, std::function<void()> on_change);

  void Start();
  // Every kind's first list is known.
  bool synced() const;
  Fleet Join() const;
  const kube::Informer<kube::Pod>& pods() const { return pods_; }
  const kube::Informer<Claim>& claims() const { return claims_; }

 private:
  void MarkChanged();

  Loop& loop_;
  const std::function<void()> on_change_;
  bool marked_ = false;
  kube::Informer<kube::Pod> pods_;
  kube::Informer<Claim> claims_;
  kube::Informer<kube::ResourceSlice> slices_;
  kube::Informer<kube::NodeDeviceHealth> healths_;
  Timer turn_;
};

}  // namespace galen::cli
