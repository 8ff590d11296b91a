// Practices that keep devices in use on a node that works today, after the Kubernetes blog's
// "Navigating Failures in Pods With Devices": nothing here is broken, so each finding is a warning.
// That the plugins themselves are well is judged by driver_checks.cc.
#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// system-cluster-critical, the lower of the two classes that Kubernetes defines itself.
constexpr std::int64_t kCriticalPriority = 2'000'000'000;
// What the API server sets for a Pod without its own tolerations (DefaultTolerationSeconds).
constexpr Duration kTolerationLeast = std::chrono::seconds(300);
// As long as the cluster waits for a node that is not ready; a Pod that saves a large state may
// need more, which its owner knows.
constexpr Duration kGraceMost = std::chrono::minutes(5);
// An installer that builds a kernel module takes some minutes.
constexpr Duration kInstallsWithin = std::chrono::minutes(15);
// Clocks of Pods and of processes have whole seconds.
constexpr Duration kStartSlack = std::chrono::seconds(2);
// Shares of a minute, in percent. A kubelet's probes have a second by default: when all work waits
// a tenth of the time for memory or a third for disks, answers take longer than that now and then.
constexpr double kCpuPressureMost = 80, kMemoryPressureMost = 10, kIoPressureMost = 33;
// A version that breaks devices is then noticed before a second tenth of the nodes has it.
constexpr std::int64_t kAtOncePercentMost = 10;

std::string NameOf(const PodSeen& pod) {
  return Shown(pod.pod.meta.key.ns) + "/" + Shown(pod.pod.meta.key.name);
}

bool Has(const PodSeen& pod) { return pod.holds_devices(); }
bool Serves(const PodSeen& pod) { return pod.is_driver || pod.runs_agent; }

// Judges each Pod of this node that `counts`; `fault` gives "" or what is wrong with it.
template <typename Counts, typename Fault>
Outcome EachPod(const Observations& seen, Counts counts, Fault fault) {
  if (!seen.api.pods.ok()) return Unknown(seen.api.pods.status());
  std::vector<std::string> found;
  std::size_t counted = 0;
  for (const PodSeen& pod : *seen.api.pods) {
    if (!counts(pod)) continue;
    ++counted;
    if (std::string what = fault(pod); !what.empty()) found.push_back(NameOf(pod) + " " + what);
  }
  return Judged(Level::kWarning, found, Counted(counted, "Pod"));
}

// A restart while Pods hold devices affects each of them.
Outcome JudgeStarts(const Observations& seen) {
  if (!seen.api.pods.ok()) return Unknown(seen.api.pods.status());
  if (!seen.kubelet.process.ok()) return Unknown(seen.kubelet.process.status());
  if (!seen.kubelet.process->started.ok()) return Unknown(seen.kubelet.process->started.status());
  if (!seen.host.runtime.ok()) return Unknown(seen.host.runtime.status());
  const WallTime kubelet = *seen.kubelet.process->started;
  return EachPod(seen, Has, [&](const PodSeen& pod) -> std::string {
    if (!pod.pod.started || pod.pod.phase == "Succeeded" || pod.pod.phase == "Failed") return "";
    const auto after = [&](WallTime start) { return start > *pod.pod.started + kStartSlack; };
    const RuntimeSeen& runtime = *seen.host.runtime;
    const bool late_kubelet = after(kubelet);
    if (!late_kubelet && !after(runtime.started)) return "";
    const WallTime start = late_kubelet ? kubelet : runtime.started;
    return fmt::format("is older than the {}, which was started {} ago",
                       late_kubelet ? "kubelet" : Shown(runtime.name),
                       ShownTime(std::max(seen.when - start, Duration::zero())));
  });
}

Outcome JudgePriority(const Observations& seen) {
  return EachPod(seen, Serves, [](const PodSeen& pod) -> std::string {
    if (pod.priority >= kCriticalPriority) return "";
    return fmt::format("has priority {}", pod.priority);
  });
}

Outcome JudgeRequests(const Observations& seen) {
  return EachPod(seen, Serves, [](const PodSeen& pod) -> std::string {
    if (pod.without_requests.empty()) return "";
    return fmt::format("requests no CPU or no memory for {}", Shown(Listed(pod.without_requests)));
  });
}

Outcome JudgePressure(const Observations& seen) {
  if (!seen.host.pressure.ok()) return Unknown(seen.host.pressure.status());
  const PressureSeen& pressure = *seen.host.pressure;
  std::string text = fmt::format(
      "in the last minute work waited {:.0f} % of the time for a CPU, all of it {:.0f} % for "
      "memory and {:.0f} % for disks",
      pressure.cpu, pressure.memory, pressure.io);
  const bool high = pressure.cpu > kCpuPressureMost || pressure.memory > kMemoryPressureMost ||
                    pressure.io > kIoPressureMost;
  return high ? Warning(std::move(text)) : Healthy(std::move(text));
}

// Zero: the taint removes the Pod at once. A toleration of every taint counts for each one.
Duration Tolerates(const PodSeen& pod, std::string_view taint) {
  Duration most = Duration::zero();
  for (const TolerationSeen& toleration : pod.tolerations) {
    if (!toleration.key.empty() && toleration.key != taint) continue;
    if (!toleration.effect.empty() && toleration.effect != "NoExecute") continue;
    if (!toleration.lasts) return Duration::max();
    most = std::max(most, *toleration.lasts);
  }
  return most;
}

Outcome JudgeTolerations(const Observations& seen) {
  return EachPod(seen, Has, [](const PodSeen& pod) -> std::string {
    for (const std::string_view taint :
         {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
      const Duration tolerated = Tolerates(pod, taint);
      if (tolerated >= kTolerationLeast) continue;
      return fmt::format("tolerates {} for {}", taint, ShownTime(tolerated));
    }
    return "";
  });
}

Outcome JudgeGrace(const Observations& seen) {
  return EachPod(seen, Has, [](const PodSeen& pod) -> std::string {
    if (pod.grace <= kGraceMost) return "";
    return fmt::format("may take {} to end", ShownTime(pod.grace));
  });
}

// The reason why a container does not run, if it will not pass by itself.
std::string StuckOn(const std::vector<kube::ContainerStatus>& statuses) {
  for (const kube::ContainerStatus& status : statuses) {
    const bool passes = status.running || status.reason.empty() || status.reason == "Completed" ||
                        status.reason == "ContainerCreating" || status.reason == "PodInitializing";
    if (!passes) return fmt::format("{}: {}", Shown(status.name), Shown(status.reason));
  }
  return "";
}

Outcome JudgeInstallers(const Observations& seen) {
  const auto of_daemon_set = [](const PodSeen& pod) { return !pod.DaemonSet().empty(); };
  return EachPod(seen, of_daemon_set, [&](const PodSeen& pod) -> std::string {
    std::string stuck = StuckOn(pod.pod.init_statuses);
    if (!stuck.empty()) return "is not installed, init container " + stuck;
    stuck = StuckOn(pod.pod.statuses);
    if (!stuck.empty()) return "does not run, container " + stuck;
    const bool late = pod.pod.phase == "Pending" && pod.pod.meta.created &&
                      seen.ApiNow() - *pod.pod.meta.created > kInstallsWithin;
    if (!late) return "";
    return "has been Pending for " + ShownTime(seen.ApiNow() - *pod.pod.meta.created);
  });
}

// Judges each DaemonSet of drivers and agents; one that could not be read makes the result no
// better.
template <typename Fault>
Outcome EachDaemonSet(const Observations& seen, Fault fault) {
  if (!seen.api.pods.ok()) return Unknown(seen.api.pods.status());
  std::vector<std::string> found;
  Status refused;
  for (const auto& [name, daemon_set] : seen.api.daemon_sets) {
    if (!daemon_set.ok()) {
      refused = daemon_set.status();
    } else if (std::string what = fault(*daemon_set); !what.empty()) {
      found.push_back(Shown(name) + " " + what);
    }
  }
  if (found.empty() && !refused.ok()) return Unknown(refused);
  return Judged(Level::kWarning, found, Counted(seen.api.daemon_sets.size(), "DaemonSet"));
}

Outcome JudgeRollout(const Observations& seen) {
  return EachDaemonSet(seen, [](const DaemonSetSeen& set) -> std::string {
    if (set.updated >= set.nodes) return "";
    return fmt::format("has its present version on {} of {}", set.updated,
                       Counted(static_cast<std::size_t>(set.nodes), "node"));
  });
}

// "1" is the least possible; more is judged by its share of the nodes.
bool IsCareful(const DaemonSetSeen& set) {
  std::int64_t number = 0;
  const char* end = set.at_once.data() + set.at_once.size();
  const auto read = std::from_chars(set.at_once.data(), end, number);
  if (read.ec != std::errc()) return false;
  if (read.ptr != end) return *read.ptr == '%' && number <= kAtOncePercentMost;
  return number <= 1 || number * 100 <= kAtOncePercentMost * set.nodes;
}

Outcome JudgeCare(const Observations& seen) {
  return EachDaemonSet(seen, [](const DaemonSetSeen& set) -> std::string {
    if (set.by_hand || IsCareful(set)) return "";
    return fmt::format("replaces its Pods on {} of {} at once", Shown(set.at_once),
                       Counted(static_cast<std::size_t>(set.nodes), "node"));
  });
}

std::vector<Check> NodePractices() {
  return {
      {"practices.starts", Level::kWarning,
       "Kubelet and container runtime were started before the Pods that hold devices",
       "A restart meets every Pod of the node: admission, claims that are being prepared and their "
       "health wait for it, and a changed configuration may refuse Pods that ran.",
       "Configure and start both when the node starts, before drivers and workloads; later only on "
       "a drained node.",
       JudgeStarts},
      {"practices.priority", Level::kWarning, "Drivers and agent are of a critical priority class",
       "On a full node they are evicted before the Pods whose devices they look after.",
       "Set priorityClassName: system-node-critical in their Pods.", JudgePriority},
      {"practices.requests", Level::kWarning, "Drivers and agent request CPU and memory",
       "Without requests they get what workloads leave: health is late, and claims are not "
       "prepared in time.",
       "Set resources.requests of cpu and memory in each of their containers.", JudgeRequests},
      {"practices.pressure", Level::kWarning, "The node is not overloaded",
       "Drivers, kubelet and agent wait too: devices become Unknown and Pods start late.",
       "Look for what uses the node (kubectl top pod -A); give workloads limits, and reserve for "
       "the system by the kubelet's systemReserved and kubeReserved.",
       JudgePressure},
      {"practices.installers", Level::kWarning, "The Pods of this node's DaemonSets have come up",
       "Among them are those that install drivers: until they are done there are no devices.",
       "Look at the container that is named: kubectl logs POD -c CONTAINER --previous.",
       JudgeInstallers},
  };
}

}  // namespace

std::vector<Check> PracticeChecks() {
  std::vector<Check> checks = NodePractices();
  const std::vector<Check> more = {
      {"practices.tolerations", Level::kWarning,
       "Pods that hold devices outlast a node that is not ready for 5 minutes",
       "A kubelet that is restarted, or a network that fails for a moment, ends them: they lose "
       "their devices and begin anew elsewhere.",
       "Raise tolerationSeconds of node.kubernetes.io/not-ready and node.kubernetes.io/unreachable "
       "(NoExecute) in these Pods to 300 or more.",
       JudgeTolerations},
      {"practices.grace", Level::kWarning, "Pods that hold devices end within 5 minutes",
       "A Pod that was deleted keeps its devices for so long: its replacement waits for them, and "
       "so does the drain of a node with a broken device.",
       "Lower terminationGracePeriodSeconds, and save state more often.", JudgeGrace},
      {"practices.rollout", Level::kWarning, "Drivers and agent are of one version on all nodes",
       "Pods that move meet another version, and a rollout that stands still was forgotten or does "
       "not go on.",
       "Finish it once the Pods of the other nodes have ended, or take it back: kubectl rollout "
       "status daemonset NAME.",
       JudgeRollout},
      {"practices.care", Level::kWarning,
       "New versions of drivers and agent come to few nodes first",
       "A version that breaks devices does so on all these nodes before anybody sees it on one.",
       "Set updateStrategy to OnDelete, or rollingUpdate.maxUnavailable to 1 or at most 10%.",
       JudgeCare},
  };
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace galen::doctor
