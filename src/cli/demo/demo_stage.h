// The cluster through its API, live, for the demo's story, and the time at which each Pod's line
// was last seen to change. Belongs to its session's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/fleet/live_fleet.h"
#include "cli/fleet/session.h"
#include "kube/objects/pod.h"

namespace galen::cli {

class DemoStage {
 public:
  // `on_change` runs on the session's loop whenever a Pod changed, for the screen. The arguments
  // outlive the stage.
  DemoStage(Session& session, Random& random, std::function<void()> on_change);

  // Begins to follow the cluster. Once.
  void Start() { fleet_.Start(); }

  // Which objects of a manifest: those that Pods need, or the Pods.
  enum class Part { kGround, kPods };

  // Makes or replaces the objects of this part of a manifest (YAML documents), in order, by
  // server-side apply; stops at the first that is refused and names it.
  Status Apply(const std::string& manifest, Part part);

  // Runs the loop until `done` holds, which is called after each change; false when `limit` passed
  // first or the session was interrupted: by Ctrl-C, or because a program of the demo died.
  bool WaitUntil(const std::function<bool()>& done, Duration limit);
  // Why waits end early; OK while they do not.
  Status interrupted() const {
    return session_.interrupt() == nullptr ? OkStatus() : session_.interrupt()->why();
  }

  // The Pod's one device as its status shows it; null when it shows none yet. Valid until the Pod
  // changes.
  const kube::ResourceHealth* HealthOf(const ObjectKey& pod) const;
  // The device that was allocated to the Pod's claim.
  std::optional<DeviceId> DeviceOf(const ObjectKey& pod) const;
  const kube::Pod* Find(const ObjectKey& pod) const { return fleet_.pods().Find(pod); }
  // nullopt until all kinds were read.
  std::optional<Fleet> fleet() const;
  // When the API server's watch brought the Pod's present line; the epoch when there is none.
  WallTime SeenAt(const ObjectKey& pod) const;

  // From now on each text of the Pod's annotation is recorded.
  void KeepSaying(const ObjectKey& pod);
  // The texts recorded since, in order; without the one it had before.
  const std::vector<std::string>& Said() const { return said_; }

  Session& session() { return session_; }

 private:
  void OnChange();

  Session& session_;
  const std::function<void()> on_change_;
  LiveFleet fleet_;
  std::optional<ObjectKey> listened_to_;
  std::string last_said_;
  std::vector<std::string> said_;
  std::map<ObjectKey, std::vector<kube::ResourceHealth>> lines_;  // each Pod's line as last seen
  std::map<ObjectKey, WallTime> seen_;
};

}  // namespace galen::cli
