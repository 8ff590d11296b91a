#include <fmt/ranges.h>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// With a larger difference, others misread the times in this node's Events, conditions and leases.
constexpr Duration kClockWarning = std::chrono::seconds(2);
// A quarter of a lease: with more, a living node may be taken for dead.
constexpr Duration kClockBad = std::chrono::seconds(10);

// The part of the difference that the header's whole seconds cannot explain.
Duration Certain(const ClockSeen& clock) {
  const Duration off = clock.ahead < Duration::zero() ? -clock.ahead : clock.ahead;
  return std::max(off - clock.uncertainty, Duration::zero());
}

// By /version, which even an anonymous user may read.
Outcome JudgeReachable(const Observations& seen) {
  const Seen<KubernetesVersion>& version = seen.api.version;
  if (version.ok()) return Healthy(fmt::format("{} at {}", Shown(version->text), seen.api.server));
  // No cluster was given: that is no fault of the node.
  if (seen.api.server.empty()) return Unknown(version.status());
  return Bad(Shown(version.status().message()));
}

// v1 came with 1.34; v1beta1 and v1beta2 alone are of no use to our drivers.
Outcome JudgeDraServed(const Observations& seen) {
  const Seen<std::set<std::string>>& versions = seen.api.dra_versions;
  if (!versions.ok()) {
    if (versions.status().code() != Code::kNotFound) return Unknown(versions.status());
    return Bad("resource.k8s.io is not served");
  }
  std::string text = fmt::format("resource.k8s.io: {}", fmt::join(*versions, ", "));
  return versions->contains("v1") ? Healthy(std::move(text)) : Bad(std::move(text));
}

// The direction is shown, because it says on which machine to look.
Outcome JudgeClock(const Observations& seen) {
  if (!seen.api.clock.ok()) return Unknown(seen.api.clock.status());
  const ClockSeen& clock = *seen.api.clock;
  const bool behind = clock.ahead < Duration::zero();
  std::string text = fmt::format("this clock is {} {} the API server's, give or take {}",
                                 ShownTime(behind ? -clock.ahead : clock.ahead),
                                 behind ? "behind" : "ahead of", ShownTime(clock.uncertainty));
  const Duration certain = Certain(clock);
  if (certain > kClockBad) return Bad(std::move(text));
  return certain > kClockWarning ? Warning(std::move(text)) : Healthy(std::move(text));
}

}  // namespace

std::vector<Check> ApiChecks() {
  return {
      {"api.reachable", Level::kBad, "The API server answers",
       "Nothing that happens on this node is published; it is recorded until it answers.",
       "See whether the server runs and whether this node's network reaches it; --kubeconfig names "
       "another.",
       JudgeReachable},
      {"api.dra", Level::kBad, "The API server serves resource.k8s.io/v1",
       "There are no ResourceSlices and claims as drivers and Galen write them.",
       "Use Kubernetes 1.34 or later, and do not switch the group off by --runtime-config.",
       JudgeDraServed},
      {"api.clock", Level::kBad, "This machine's clock agrees with the API server's",
       "Times on Pods, Events and leases are wrong by that much; a node far behind looks dead, and "
       "certificates are refused.",
       "Run a time service such as chrony on the node, and on the API server's machine.",
       JudgeClock},
  };
}

}  // namespace galen::doctor
