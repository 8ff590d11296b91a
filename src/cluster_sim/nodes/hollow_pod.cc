#include <algorithm>

#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/nodes/simulated_nodes.h"

namespace galen::cluster_sim {
namespace {

constexpr int kSignalBase = 128;  // a shell's exit code of a process ended by signal N is 128 + N

// One for each start, as a runtime makes them: watchers of restarts see it change.
Json ContainerId(const Json& pod, const Json& container, std::int64_t restarts) {
  return fmt::format("hollow://{}/{}/{}", api_sim::UidOf(pod), container["name"].AsString(),
                     restarts);
}

Json RunningState(const std::string& now) {
  return Json::MakeObject({{"running", Json::MakeObject({{"startedAt", now}})}});
}

Json TerminatedState(const Json& started, const Json& id, int exit_code, const std::string& now) {
  Json end = Json::MakeObject({{"exitCode", exit_code},
                               {"reason", exit_code == 0 ? "Completed" : "Error"},
                               {"startedAt", started},
                               {"finishedAt", now},
                               {"containerID", id}});
  if (exit_code > kSignalBase) end["signal"] = exit_code - kSignalBase;
  return Json::MakeObject({{"terminated", std::move(end)}});
}

// A container's status at its first start; one that does not run has ended with 0.
Json FreshStatus(const Json& pod, const Json& container, bool runs, const std::string& now) {
  const Json id = ContainerId(pod, container, 0);
  return Json::MakeObject({{"name", container["name"]},
                           {"image", container["image"]},
                           {"imageID", ""},
                           {"containerID", id},
                           {"restartCount", 0},
                           {"ready", true},
                           {"started", runs},
                           {"state", runs ? RunningState(now) : TerminatedState(now, id, 0, now)}});
}

// The transition time stays as long as the status does; clients measure by it.
Json Condition(const Json& pod, const char* type, bool holds, const char* reason,
               const std::string& now) {
  const Json& before = api_sim::FindCondition(pod["status"]["conditions"], type);
  const char* status = holds ? "True" : "False";
  Json condition = Json::MakeObject(
      {{"type", type},
       {"status", status},
       {"lastProbeTime", nullptr},
       {"lastTransitionTime",
        before["status"].AsString() == status ? before["lastTransitionTime"] : Json(now)}});
  // A null removes an earlier reason, since the patch merges.
  condition["reason"] = holds ? Json() : Json(reason);
  return condition;
}

// The conditions of a kubelet; a strategic merge leaves other types alone.
Json Conditions(const Json& pod, bool ready, const char* reason, const std::string& now) {
  return Json::MakeArray({Condition(pod, "PodReadyToStartContainers", true, "", now),
                          Condition(pod, "Initialized", true, "", now),
                          Condition(pod, "Ready", ready, reason, now),
                          Condition(pod, "ContainersReady", ready, reason, now),
                          Condition(pod, "PodScheduled", true, "", now)});
}

// The uid protects a later Pod of the same name.
Json StatusPatch(const Json& pod, Json status) {
  return Json::MakeObject({{"metadata", Json::MakeObject({{"uid", api_sim::UidOf(pod)}})},
                           {"status", std::move(status)}});
}

bool Restarts(const Json& pod, int exit_code) {
  const std::string& policy = pod["spec"]["restartPolicy"].AsString();
  if (policy == "Never") return false;
  return policy != "OnFailure" || exit_code != 0;
}

void EndContainer(const Json& pod, Json& status, int exit_code, const std::string& now) {
  const Json ended = TerminatedState(status["state"]["running"]["startedAt"], status["containerID"],
                                     exit_code, now);
  if (!Restarts(pod, exit_code)) {
    status["state"] = ended;
    status["ready"] = false;
    status["started"] = false;
    return;
  }
  const std::int64_t restarts = status["restartCount"].AsInt() + 1;
  status["lastState"] = ended;
  status["restartCount"] = restarts;
  status["state"] = RunningState(now);
  status["containerID"] = ContainerId(pod, status, restarts);
}

bool Runs(const Json& status) { return !status["state"]["running"].is_null(); }

}  // namespace

Json RunningPatch(const Json& pod, const HollowPlace& place) {
  const std::string now = FormatRfc3339(place.now);
  Json main(Json::Array{});
  for (const Json& container : pod["spec"]["containers"].items()) {
    main.Append(FreshStatus(pod, container, true, now));
  }
  Json status =
      Json::MakeObject({{"phase", "Running"},
                        {"startTime", now},
                        {"hostIP", place.host_ip},
                        {"hostIPs", Json::MakeArray({Json::MakeObject({{"ip", place.host_ip}})})},
                        {"podIP", place.pod_ip},
                        {"podIPs", Json::MakeArray({Json::MakeObject({{"ip", place.pod_ip}})})},
                        {"qosClass", "BestEffort"},
                        {"conditions", Conditions(pod, true, "", now)},
                        {"containerStatuses", std::move(main)}});
  for (const Json& container : pod["spec"]["initContainers"].items()) {
    // An init container that restarts always is a sidecar (KEP-753) and goes on running.
    const bool sidecar = container["restartPolicy"].AsString() == "Always";
    status["initContainerStatuses"].Append(FreshStatus(pod, container, sidecar, now));
  }
  return StatusPatch(pod, std::move(status));
}

StatusOr<Json> CrashPatch(const Json& pod, const std::string& container, int exit_code,
                          WallTime now) {
  const std::string at = FormatRfc3339(now);
  Json statuses = pod["status"]["containerStatuses"];
  bool found = false;
  bool failed = false;
  for (Json& status : statuses.MutableItems()) {
    if (status["name"].AsString() == container && Runs(status)) {
      found = true;
      EndContainer(pod, status, exit_code, at);
    }
    // A container that ended earlier and stays ended counts as well.
    failed = failed || status["state"]["terminated"]["exitCode"].AsInt() != 0;
  }
  if (!found) {
    return NotFound("pod {} has no running container {}", ToString(api_sim::KeyOf(pod)), container);
  }
  const auto& all = statuses.items();
  const bool any_runs = std::any_of(all.begin(), all.end(), Runs);
  const bool all_run = std::all_of(all.begin(), all.end(), Runs);
  Json status = Json::MakeObject({{"containerStatuses", statuses}});
  if (!any_runs) status["phase"] = failed ? "Failed" : "Succeeded";
  const char* reason = any_runs ? "ContainersNotReady" : failed ? "PodFailed" : "PodCompleted";
  if (!all_run) status["conditions"] = Conditions(pod, false, reason, at);
  Json patch = StatusPatch(pod, std::move(status));
  // Restarts are counted on from the version that was read, so the patch requires that version.
  patch["metadata"]["resourceVersion"] = pod["metadata"]["resourceVersion"];
  return patch;
}

}  // namespace galen::cluster_sim
