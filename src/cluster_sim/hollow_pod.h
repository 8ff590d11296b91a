// What a kubelet would write into the status of a Pod whose containers only pretend to run. Pure:
// each gives a strategic merge patch of the Pod, which leaves conditions of others alone.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"
#include "base/time.h"

namespace galen::cluster_sim {

struct HollowPlace {
  std::string host_ip;
  std::string pod_ip;
  WallTime now{};
};

// Every container runs: init containers are through, sidecars and main ones are ready.
Json RunningPatch(const Json& pod, const HollowPlace& place);

// `container` ended with `exit_code` at `now`; it runs again where spec.restartPolicy says so, and
// the Pod is Succeeded or Failed where nothing runs any more. NotFound: it does not run.
StatusOr<Json> CrashPatch(const Json& pod, const std::string& container, int exit_code,
                          WallTime now);

}  // namespace galen::cluster_sim
