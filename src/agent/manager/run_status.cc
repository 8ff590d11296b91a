#include "agent/manager/run_status.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/objects/meta.h"

namespace galen::agent {
namespace {

using ContainerKind = ContainerLife::Kind;

// The code for processes that ended with the agent, as for SIGKILL: the real one was not seen.
constexpr int kUnknownCode = 137;

Json TerminatedJson(const RunEnd& end, const std::string& id) {
  Json terminated = Json::MakeObject({{"exitCode", end.code},
                                      {"reason", end.reason},
                                      {"startedAt", FormatRfc3339(end.started)},
                                      {"finishedAt", FormatRfc3339(end.finished)},
                                      {"containerID", id}});
  if (end.signal) terminated["signal"] = *end.signal;
  if (!end.message.empty()) terminated["message"] = end.message;
  return Json::MakeObject({{"terminated", std::move(terminated)}});
}

Json WaitingJson(std::string_view reason, const std::string& message) {
  Json waiting = Json::MakeObject({{"reason", reason}});
  if (!message.empty()) waiting["message"] = message;
  return Json::MakeObject({{"waiting", std::move(waiting)}});
}

// Each run counts as a container of its own, as in a container runtime.
std::string IdOf(const PodPlan& plan, const ContainerPlan& container, int run) {
  return fmt::format("galen://{}/{}/{}", plan.ref.uid, container.name, run);
}

// A container that waits for its restart, if it has to wait at all.
std::string BackOffSentence(const ContainerPlan& container, const ContainerLife& life) {
  return fmt::format("container {} ended with exit code {}, restart {} comes after {} s",
                     container.name, life.last_end()->code, life.restarts() + 1,
                     std::chrono::duration_cast<std::chrono::seconds>(life.delay()).count());
}

bool HasInitContainers(const PodPlan& plan) {
  return !plan.containers.empty() && plan.containers.front().kind != ContainerKind::kMain;
}

Json StateJson(const PodPlan& plan, const ContainerPlan& container, const ContainerLife& life,
               bool ending) {
  if (life.running()) {
    return Json::MakeObject(
        {{"running", Json::MakeObject({{"startedAt", FormatRfc3339(life.started())}})}});
  }
  if (!life.hindrance().empty()) return WaitingJson(life.hindrance(), life.hindrance_message());
  if (life.state() == ContainerLife::State::kWaiting) {
    return WaitingJson(HasInitContainers(plan) ? "PodInitializing" : "ContainerCreating", "");
  }
  const bool waits = life.restarts_again() && life.delay() > Duration::zero() && !ending;
  if (waits) return WaitingJson("CrashLoopBackOff", BackOffSentence(container, life));
  return TerminatedJson(*life.last_end(), IdOf(plan, container, life.restarts()));
}

// Whether the Pod counts it as ready; an init container is ready once it has succeeded.
bool IsReady(const ContainerLife& life) {
  return life.kind() == ContainerKind::kInit ? life.succeeded() : life.running();
}

Json StatusJson(const PodPlan& plan, const ContainerPlan& container, const ContainerLife& life,
                bool ending) {
  Json status = Json::MakeObject({{"name", container.name},
                                  {"image", container.image},
                                  {"imageID", ""},
                                  {"ready", IsReady(life)},
                                  {"started", life.running()},
                                  {"restartCount", life.restarts()},
                                  {"state", StateJson(plan, container, life, ending)},
                                  {"lastState", Json(Json::Object{})}});
  if (life.ever_ran()) status["containerID"] = IdOf(plan, container, life.restarts());
  // The end that the state itself shows is not repeated as the last one.
  const bool shown = status["state"].Has("terminated");
  const auto& last = shown ? life.end_before() : life.last_end();
  const int run = life.restarts() - (shown || life.running() ? 1 : 0);
  if (last) status["lastState"] = TerminatedJson(*last, IdOf(plan, container, run));
  return status;
}

Json ConditionJson(std::string_view type, bool holds, std::string_view reason = "",
                   const std::string& message = "") {
  return Json::MakeObject({{"type", type},
                           {"status", holds ? "True" : "False"},
                           {"reason", holds && reason != "PodCompleted" ? "" : reason},
                           {"message", holds ? "" : message}});
}

// What keeps the Pod from being ready, by the reasons that a kubelet gives.
Json ReadinessJson(std::string_view type, const PodLife& life,
                   const std::vector<std::string>& unready) {
  if (life.phase() == "Succeeded") return ConditionJson(type, false, "PodCompleted");
  if (life.phase() == "Failed") return ConditionJson(type, false, "PodFailed");
  return ConditionJson(type, unready.empty(), "ContainersNotReady",
                       fmt::format("not ready: {}", fmt::join(unready, ", ")));
}

Json ConditionsJson(const PodPlan& plan, const PodLife& life) {
  std::vector<std::string> incomplete, unready;
  for (std::size_t i = 0; i < life.size(); ++i) {
    const ContainerLife& container = life.container(i);
    if (IsReady(container)) continue;
    (container.kind() == ContainerKind::kMain ? unready : incomplete)
        .push_back(plan.containers[i].name);
    // A sidecar serves with the main ones, so it is missed with them.
    if (container.kind() == ContainerKind::kSidecar) unready.push_back(plan.containers[i].name);
  }
  const bool completed = life.phase() == "Succeeded";
  Json conditions(Json::Array{});
  conditions.Append(ConditionJson("PodReadyToStartContainers", true));
  conditions.Append(ConditionJson("Initialized", life.initialized(),
                                  completed ? "PodCompleted" : "ContainersNotInitialized",
                                  fmt::format("not initialized: {}", fmt::join(incomplete, ", "))));
  conditions.Append(ReadinessJson("ContainersReady", life, unready));
  conditions.Append(ReadinessJson("Ready", life, unready));
  return conditions;
}

// nullopt: it never ran.
std::optional<RunEnd> LastEndOf(const Json& status, WallTime wall) {
  const Json& state = status["state"];
  if (state.Has("running")) {
    return RunEnd{
        .code = kUnknownCode,
        .reason = "ContainerStatusUnknown",
        .message =
            "the agent was restarted, which ended its processes; how they ended is not known",
        .started = kube::DecodeTime(state["running"]["startedAt"]).value_or(wall),
        .finished = wall};
  }
  const Json& now = state["terminated"];
  const Json& ended = now.is_object() ? now : status["lastState"]["terminated"];
  if (!ended.is_object()) return std::nullopt;
  const int signal = static_cast<int>(ended["signal"].AsInt());
  return RunEnd{.code = static_cast<int>(ended["exitCode"].AsInt()),
                .signal = signal != 0 ? std::optional(signal) : std::nullopt,
                .reason = ended["reason"].AsString(),
                .message = ended["message"].AsString(),
                .started = kube::DecodeTime(ended["startedAt"]).value_or(wall),
                .finished = kube::DecodeTime(ended["finishedAt"]).value_or(wall)};
}

const Json& StatusNamed(const Json& status, const ContainerPlan& container) {
  static const Json kNone;
  const bool main = container.kind == ContainerKind::kMain;
  for (const Json& item : status[main ? "containerStatuses" : "initContainerStatuses"].items()) {
    if (item["name"].AsString() == container.name) return item;
  }
  return kNone;
}

}  // namespace

Json RunStatusOf(const PodPlan& plan, const PodLife& life) {
  Json main(Json::Array{}), init(Json::Array{});
  for (std::size_t i = 0; i < life.size(); ++i) {
    const ContainerPlan& container = plan.containers[i];
    Json& list = container.kind == ContainerKind::kMain ? main : init;
    list.Append(StatusJson(plan, container, life.container(i), life.ending()));
  }
  return Json::MakeObject({{"phase", life.phase()},
                           {"conditions", ConditionsJson(plan, life)},
                           {"containerStatuses", std::move(main)},
                           {"initContainerStatuses", std::move(init)}});
}

void RestoreLife(const PodPlan& plan, const Json& status, Time now, WallTime wall, PodLife& life) {
  for (std::size_t i = 0; i < plan.containers.size(); ++i) {
    const Json& before = StatusNamed(status, plan.containers[i]);
    if (before.is_null()) continue;
    life.container(i).Restore(static_cast<int>(before["restartCount"].AsInt()),
                              LastEndOf(before, wall), now);
  }
}

}  // namespace galen::agent
