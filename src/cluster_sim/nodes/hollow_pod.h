// What a kubelet would write into the status of a Pod whose containers only pretend to run. Pure:
// each function gives a strategic merge patch of the Pod's status subresource, which names the
// Pod's uid and leaves conditions of others alone.
#pragma once

#include <string>

#include "base/data/json.h"
#include "base/status.h"
#include "base/time.h"

namespace galen::cluster_sim {

// Where and when the Pod runs. Addresses are shown and never dialled.
struct HollowPlace {
  std::string host_ip;
  std::string pod_ip;
  WallTime now{};
};

// Every container runs: init containers are through, sidecars and main ones are ready. `pod` is as
// the API has it; restarts begin at 0, so use it for a Pod that has not run yet.
Json RunningPatch(const Json& pod, const HollowPlace& place);

// `container` of spec.containers ended with `exit_code` at `now`; it runs again where
// spec.restartPolicy says so, at once and without a kubelet's backoff, and the Pod is Succeeded or
// Failed where nothing runs any more. Exit codes above 128 count as signals. NotFound: it does not
// run. The patch holds for the version of `pod` only, else 409.
StatusOr<Json> CrashPatch(const Json& pod, const std::string& container, int exit_code,
                          WallTime now);

}  // namespace galen::cluster_sim
