// What the demo's story acts on and looks at: the cluster through its API, live, and the moment at
// which each Pod's line was seen to change. Belongs to its session's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/live_fleet.h"
#include "cli/session.h"
#include "kube/objects/pod.h"

namespace galen::cli {

class DemoStage {
 public:
  // `on_change` runs whenever a Pod changed, for the screen.
  DemoStage(Session& session, Random& random, std::function<void()> on_change);

  void Start() { fleet_.Start(); }

  // Makes or replaces each object of a manifest, in order.
  Status Apply(const std::string& manifest);

  // Runs the loop until `done` holds; false when `limit` passed first or somebody interrupted.
  bool WaitUntil(const std::function<bool()>& done, Duration limit);
  // Ends every wait, now and later.
  void Interrupt();

  // The Pod's one device as its status tells it; null when it tells none yet.
  const kube::ResourceHealth* HealthOf(const ObjectKey& pod) const;
  // The device that was allocated to the Pod's claim.
  std::optional<DeviceId> DeviceOf(const ObjectKey& pod) const;
  const kube::Pod* Find(const ObjectKey& pod) const { return fleet_.pods().Find(pod); }
  Fleet fleet() const { return fleet_.Join(); }
  // When the API server's watch brought the Pod's present line.
  WallTime SeenAt(const ObjectKey& pod) const;

  Session& session() { return session_; }

 private:
  void OnChange();

  Session& session_;
  const std::function<void()> on_change_;
  LiveFleet fleet_;
  bool interrupted_ = false;
  std::map<ObjectKey, std::vector<kube::ResourceHealth>> lines_;  // each Pod's line as last seen
  std::map<ObjectKey, WallTime> seen_;
};

}  // namespace galen::cli
