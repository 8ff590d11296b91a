#include <fmt/format.h>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// resource.k8s.io/v1 is served and used from 1.34 on (KEP-4381).
constexpr int kDraSince = 34;
// kubernetes.io/releases/version-skew-policy: a kubelet may be three minors older.
constexpr int kSkewMax = 3;
// The gate SystemdWatchdog is on since 1.32; earlier kubelets do not answer systemd.
constexpr int kWatchdogSince = 32;
// A kubelet's health check may take some seconds on a busy node.
constexpr Duration kWatchdogLeast = std::chrono::seconds(10);
// Each Pod and each plugin takes some; a kubelet asks for a million by default (maxOpenFiles).
constexpr std::int64_t kKubeletFilesLeast = 4096;

// The condition is the kubelet's, or the node controller's once the kubelet is silent.
Outcome JudgeReady(const Observations& seen) {
  if (!seen.api.node.ok()) {
    if (seen.api.node.status().code() != Code::kNotFound) return Unknown(seen.api.node.status());
    return Bad(fmt::format("the API server knows no node {}", Shown(seen.node)));
  }
  const auto& ready = seen.api.node->ready;
  if (!ready) return Bad("the node has no condition Ready: its kubelet has never reported");
  if (ready->status == "True") return Healthy(Shown(seen.api.node->kubelet_version));
  return Bad(fmt::format("Ready is {}: {}: {}", Shown(ready->status), Shown(ready->reason),
                         Shown(ready->message)));
}

// By the API server's clock, which others use to judge the node, too.
Outcome JudgeLease(const Observations& seen) {
  const Seen<LeaseSeen>& lease = seen.api.lease;
  if (!lease.ok()) {
    if (lease.status().code() == Code::kNotFound) return Bad("the node has no lease");
    return Unknown(lease.status());
  }
  if (!lease->renewed) return Bad("the lease was never renewed");
  const Duration age = seen.ApiNow() - *lease->renewed;
  std::string text =
      fmt::format("renewed {} ago, holds for {}", ShownTime(std::max(age, Duration::zero())),
                  ShownTime(lease->holds));
  return age <= lease->holds ? Healthy(std::move(text)) : Bad(std::move(text));
}

// A kubelet newer than its API server writes fields that are dropped silently.
Outcome JudgeVersion(const Observations& seen) {
  const std::optional<KubernetesVersion> kubelet = seen.KubeletVersion();
  if (!kubelet) return Unknown("the kubelet's version is not known");
  if (kubelet->minor < kDraSince) {
    return Bad(fmt::format("kubelet {} is older than 1.34", Shown(kubelet->text)));
  }
  if (!seen.api.version.ok()) return Unknown(seen.api.version.status());
  const KubernetesVersion& api = *seen.api.version;
  std::string text =
      fmt::format("kubelet {}, API server {}", Shown(kubelet->text), Shown(api.text));
  const bool fits = kubelet->minor <= api.minor && kubelet->minor + kSkewMax >= api.minor;
  return fits ? Healthy(std::move(text)) : Bad(std::move(text));
}

// From the process's environment: what systemd really set, whatever unit files say.
Outcome JudgeWatchdog(const Observations& seen) {
  if (!seen.kubelet.process.ok()) return Unknown(seen.kubelet.process.status());
  const Seen<std::optional<Duration>>& watchdog = seen.kubelet.process->watchdog;
  if (!watchdog.ok()) return Unknown(watchdog.status());
  if (!*watchdog) return Warning("systemd watches the kubelet without WatchdogSec, or not at all");
  std::string text = "WatchdogSec is " + ShownTime(**watchdog);
  const std::optional<KubernetesVersion> version = seen.KubeletVersion();
  if (version && version->minor < kWatchdogSince) {
    return Bad(fmt::format("{}, and kubelet {} does not answer it", text, Shown(version->text)));
  }
  return **watchdog < kWatchdogLeast ? Bad(std::move(text)) : Healthy(std::move(text));
}

// Go raises the soft limit to the hard one at its start, so this is the hard limit.
Outcome JudgeKubeletOpenFiles(const Observations& seen) {
  if (!seen.kubelet.process.ok()) return Unknown(seen.kubelet.process.status());
  const Seen<std::optional<std::int64_t>>& limit = seen.kubelet.process->open_files;
  if (!limit.ok()) return Unknown(limit.status());
  if (!*limit) return Healthy("unlimited");
  std::string text =
      fmt::format("process {} may open {} files", seen.kubelet.process->pid, **limit);
  return *limit >= kKubeletFilesLeast ? Healthy(std::move(text)) : Warning(std::move(text));
}

// Only a file that was read and is broken is a finding: without the right to read it, nothing is
// known.
Outcome JudgeCheckpoint(const Observations& seen) {
  const auto& prepared = seen.kubelet.prepared;
  if (prepared.ok()) return Healthy(Counted(prepared->size(), "prepared claim"));
  if (prepared.status().code() == Code::kDataLoss) return Bad(Shown(prepared.status().message()));
  return Unknown(prepared.status());
}

}  // namespace

std::vector<Check> KubeletChecks() {
  return {
      {"kubelet.ready", Level::kBad, "The node is Ready",
       "The cluster schedules nothing here, and after five minutes removes what runs.",
       "Look at the kubelet's log; if the node has another name, give it with --node.", JudgeReady},
      {"kubelet.lease", Level::kBad, "The node's lease is renewed",
       "The kubelet is dead, hangs, or cannot reach the API server: what it says of Pods and "
       "devices is old.",
       "Look whether the kubelet runs and what its log says of the API server.", JudgeLease},
      {"kubelet.version", Level::kBad, "The kubelet's version fits DRA and the API server",
       "DRA needs 1.34; a kubelet must not be newer than its API server, nor three minors older.",
       "Update the older of the two.", JudgeVersion},
      {"kubelet.watchdog", Level::kBad, "systemd restarts a kubelet that hangs, and only then",
       "Without a watchdog a kubelet that hangs stays so; one that is too short, or not answered "
       "by the kubelet, ends a kubelet that is well.",
       "Set WatchdogSec=30s in the kubelet's unit (kubelets from 1.32 on answer it).",
       JudgeWatchdog},
      {"kubelet.open-files", Level::kWarning, "The kubelet may open at least 4096 files",
       "On a full node it cannot connect to drivers or watch their registry any more.",
       "Raise LimitNOFILE in the kubelet's unit, and maxOpenFiles in its configuration.",
       JudgeKubeletOpenFiles},
      // checkpointmanager: a wrong checksum ends NewManager, and with it the kubelet's start.
      {"kubelet.checkpoint", Level::kBad, "The kubelet's record of prepared claims is whole",
       "The kubelet does not start again with this file.",
       "Drain the node, remove <kubelet root>/dra_manager_state and restart the kubelet.",
       JudgeCheckpoint},
  };
}

}  // namespace galen::doctor
