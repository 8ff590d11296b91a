#include "agent/manager/process_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/agent_metrics.h"
#include "agent/containers/container_plan.h"
#include "agent/manager/run_status.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// As a shell and container runtimes have it.
constexpr int kSignalCodeBase = 128;
// The exit code of a container that could not be started, as containerd has it.
constexpr int kStartErrorCode = 128;

RunEnd EndOf(const ProcessEnd& end, WallTime started, WallTime finished) {
  RunEnd out{.code = end.signal ? kSignalCodeBase + *end.signal : end.code,
             .signal = end.signal,
             .started = started,
             .finished = finished};
  out.reason = end.out_of_memory ? "OOMKilled" : out.code == 0 ? "Completed" : "Error";
  return out;
}

}  // namespace

ProcessRunner::ProcessRunner(Edges edges, Options options, OnChange on_change)
    : edges_(edges),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      directories_({edges.loop, edges.files, edges.processes, edges.disk}, options_.directory) {}

ProcessRunner::~ProcessRunner() = default;

void ProcessRunner::Start() {
  if (const int killed = edges_.processes.KillLeftovers(); killed > 0) {
    edges_.log.Warning("processes that an earlier agent left behind were killed",
                       {{"processes", killed}});
  }
  if (const std::string limitation = edges_.processes.limitation(); !limitation.empty())
    edges_.log.Warning("containers run with a limitation", {{"limitation", limitation}});
}

void ProcessRunner::Open() {
  std::vector<PodRef> known;
  edges_.view.ForEachPod([&](const kube::Pod& pod) { known.push_back(pod.ref()); });
  directories_.RemoveOthers(known);
}

void ProcessRunner::Correct(const kube::Pod& pod) {
  const auto runs = [](const kube::ContainerStatus& status) { return status.running; };
  const bool shown =
      std::ranges::any_of(pod.statuses, runs) || std::ranges::any_of(pod.init_statuses, runs);
  if (stopped_ || !shown || !pods_.try_emplace(pod.ref()).second) return;
  Read(pod.ref());
}

void ProcessRunner::Run(const kube::Pod& pod) {
  if (stopped_) return;
  const auto [it, is_new] = pods_.try_emplace(pod.ref());
  if (std::exchange(it->second.may_run, true)) return;
  if (is_new) return Read(pod.ref());
  if (it->second.life) Advance(pod.ref(), false);
}

// The informer keeps little of a spec; the whole object is read once.
void ProcessRunner::Read(const PodRef& ref) {
  pods_.at(ref).read =
      edges_.client.Do(kube::Get(kube::kPods, ref.key.ns, ref.key.name),
                       [this, ref](const StatusOr<Json>& object) { OnRead(ref, object); });
}

void ProcessRunner::OnRead(const PodRef& ref, const StatusOr<Json>& object) {
  Entry& entry = pods_.at(ref);
  entry.read.reset();
  if (stopped_) return;
  const bool another = object.ok() && (*object)["metadata"]["uid"].AsString() != ref.uid;
  // The watch reports its end.
  if (another || object.status().code() == Code::kNotFound) return Forget(ref);
  const Status begun = object.ok() ? Begin(ref, *object, entry) : object.status();
  if (!begun.ok()) TryAgain(ref, entry, begun);
}

void ProcessRunner::TryAgain(const PodRef& ref, Entry& entry, const Status& why) {
  entry.due = edges_.loop.After(entry.backoff.Next(edges_.random), [this, ref] { Read(ref); });
  if (std::exchange(entry.error, why.message()) == why.message()) return;
  edges_.log.Warning("Pod cannot be run, trying again",
                     {{"pod", ToString(ref.key)}, {"error", why.message()}});
  edges_.events.Publish(
      ref, "run",
      {true, EventReason::kFailedCreateContainer,
       CutText("The Pod cannot be run yet: " + why.message(), kube::kEventMessageBytesMax)});
}

Status ProcessRunner::Begin(const PodRef& ref, const Json& object, Entry& entry) {
  ASSIGN_OR_RETURN(entry.plan, PlanOf(object, {.node = options_.node,
                                               .directory = options_.directory,
                                               .path = options_.path}));
  std::vector<std::string> directories;
  for (const ContainerPlan& container : entry.plan->containers) {
    directories.push_back(container.directory);
  }
  directories_.Make(ref, std::move(directories),
                    [this, ref, status = object["status"],
                     watch = Liveness::Watch(entry.liveness)](const Status& made) {
                      if (watch.alive()) OnDirectories(ref, status, made);
                    });
  return OkStatus();
}

void ProcessRunner::OnDirectories(const PodRef& ref, const Json& status, const Status& made) {
  Entry& entry = pods_.at(ref);
  if (stopped_) return;
  // All or nothing: a Pod whose preparation fails half-way is begun anew.
  if (!made.ok()) return TryAgain(ref, entry, made);
  entry.error.clear();
  const PodPlan& plan = *entry.plan;
  for (std::size_t i = 0; i < plan.containers.size(); ++i) {
    entry.boxes.push_back(MakeBox(ref, i, plan.containers[i]));
  }
  entry.life.emplace(plan);
  RestoreLife(plan, status, edges_.loop.Now(), edges_.loop.WallNow(), *entry.life);
  PublishLimits(ref);
  Advance(ref, true);
}

ProcessRunner::Box ProcessRunner::MakeBox(const PodRef& ref, std::size_t index,
                                          const ContainerPlan& container) {
  const auto hold = [this, ref, index](bool wait) {
    const Box& box = pods_.at(ref).boxes[index];
    if (box.process) box.process->HoldOutput(wait);
  };
  const auto lost = [this, ref, index](std::size_t bytes, const Status& why) {
    OnOutputLost(ref, index, bytes, why);
  };
  Box box;
  box.log = std::make_unique<ContainerLog>(
      ContainerLog::Edges{edges_.loop, edges_.files, edges_.disk}, container.directory + "/log",
      ContainerLog::Events{.hold = hold, .lost = lost});
  return box;
}

// At each start of the agent: the Pod's events then say how images and probes are treated here.
void ProcessRunner::PublishLimits(const PodRef& ref) {
  edges_.events.Publish(
      ref, "processes",
      {false, EventReason::kContainersAreProcesses,
       fmt::format("Containers of this Pod are processes of node {}: their command is a program of "
                   "that machine; images, volumes, probes and security contexts are not used",
                   options_.node)});
}

void ProcessRunner::Advance(const PodRef& ref, bool changed) {
  Entry& entry = pods_.at(ref);
  if (stopped_) return;
  while (entry.may_run || entry.life->ending()) {
    const std::vector<PodLife::Action> actions = entry.life->Decide(edges_.loop.Now());
    if (actions.empty()) break;
    changed = true;
    for (const PodLife::Action& action : actions) Perform(ref, entry, action);
  }
  const Time due = entry.may_run || entry.life->ending() ? entry.life->due() : Time::max();
  entry.due = edges_.loop.At(due, [this, ref] { Advance(ref, false); });
  if (changed) on_change_(ref);
}

void ProcessRunner::Perform(const PodRef& ref, Entry& entry, const PodLife::Action& action) {
  // Null while the message of its end is read.
  ContainerProcess* process = entry.boxes[action.container].process.get();
  switch (action.kind) {
    case PodLife::Action::Kind::kStart:
      return StartContainer(ref, entry, action.container);
    case PodLife::Action::Kind::kTerminate:
      return process == nullptr ? void() : process->Signal(SIGTERM);
    case PodLife::Action::Kind::kKill:
      return process == nullptr ? void() : process->Signal(SIGKILL);
  }
}

void ProcessRunner::StartContainer(const PodRef& ref, Entry& entry, std::size_t index) {
  const ContainerPlan& plan = entry.plan->containers[index];
  ContainerLife& life = entry.life->container(index);
  const Time now = edges_.loop.Now();
  const WallTime wall = edges_.loop.WallNow();
  if (!plan.fault.empty()) {
    return life.OnUnable("CreateContainerConfigError", plan.fault, Time::max());
  }
  // Each run has a message file of its own, so that no run shows an earlier one's message. The time
  // is in the name because an earlier agent may not have published its last run's number.
  Box& box = entry.boxes[index];
  box.message_file = fmt::format("{}/{}-{}-{}", plan.directory, kTerminationLogName,
                                 life.ever_ran() ? life.restarts() + 1 : 0,
                                 wall.time_since_epoch() / std::chrono::milliseconds(1));
  const StatusOr<ContainerCommand> command = CommandOf(entry, index, box.message_file);
  if (!command.ok()) {
    return life.OnUnable("CreateContainerConfigError", command.status().message(),
                         now + kLookAgain);
  }
  box.log->BeginRun();
  auto process = edges_.processes.Start(
      *command, [log = box.log.get()](std::string_view bytes) { log->Append(bytes); },
      [this, ref, index](const ProcessEnd& end) { OnEnd(ref, index, end); });
  life.OnStarted(now, wall);
  if (process.ok()) {
    box.process = std::move(process).value();
    return;
  }
  life.OnEnded({.code = kStartErrorCode,
                .reason = "StartError",
                .message = process.status().message(),
                .started = wall,
                .finished = wall},
               now);
}

StatusOr<ContainerCommand> ProcessRunner::CommandOf(const Entry& entry, std::size_t index,
                                                    const std::string& message_file) const {
  const ContainerPlan& plan = entry.plan->containers[index];
  std::map<std::string, std::string> environment = plan.environment;
  environment[std::string(kTerminationLogVariable)] = message_file;
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, CdiIdsOf(entry.plan->ref, plan));
  ASSIGN_OR_RETURN(auto variables, CdiEnvironment(edges_.files, options_.cdi_directories, ids));
  // The driver's variables override the spec's, as a container runtime adds them last; but not the
  // variable by which the processes are recognised.
  for (const auto& [name, value] : environment) {
    const bool ours = name == kContainerDirectoryVariable || name == kTerminationLogVariable;
    if (ours || !variables.contains(name)) variables[name] = value;
  }
  ContainerCommand command{.id = fmt::format("{}.{}.{}", entry.plan->ref.uid, plan.name,
                                             entry.life->container(index).restarts()),
                           .command = {},
                           .environment = {},
                           .working_directory = plan.working_directory,
                           .memory_bytes_max = plan.memory_bytes_max};
  for (const std::string& text : plan.command) {
    command.command.push_back(ExpandVariables(text, environment));
  }
  for (const auto& [name, value] : variables) command.environment.push_back(name + "=" + value);
  return command;
}

// Every CDI device that drivers prepared for the container, by the requests that it names.
StatusOr<std::vector<std::string>> ProcessRunner::CdiIdsOf(const PodRef& ref,
                                                           const ContainerPlan& plan) const {
  std::vector<std::string> ids;
  const kube::Pod* pod = edges_.view.FindPod(ref.key);
  if (pod == nullptr || pod->meta.uid != ref.uid) return Unavailable("the Pod is gone");
  for (const HeldDevice& held : DevicesOf(*pod, edges_.view, edges_.prepared)) {
    const bool used = std::ranges::any_of(
        held.uses, [&](const ContainerUse& use) { return use.container == plan.name; });
    if (!used) continue;
    const std::vector<std::string> more =
        edges_.prepared.CdiIds(held.claim_uid, held.device, held.share_id);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

// A disk that is full or hangs costs lines of the log, not the container.
void ProcessRunner::OnOutputLost(const PodRef& ref, std::size_t index, std::size_t bytes,
                                 const Status& why) {
  edges_.metrics.Add(metric::kContainerOutputLost, {}, static_cast<double>(bytes));
  if (std::exchange(pods_.at(ref).boxes[index].log_trouble, true)) return;
  edges_.log.Warning("output of a container is lost",
                     {{"pod", ToString(ref.key)}, {"error", why.message()}});
}

void ProcessRunner::OnEnd(const PodRef& ref, std::size_t index, const ProcessEnd& end) {
  Entry& entry = pods_.at(ref);
  Box& box = entry.boxes[index];
  box.process.reset();
  ContainerLife& life = entry.life->container(index);
  const RunEnd run_end = EndOf(end, life.started(), edges_.loop.WallNow());
  edges_.log.Info("container ended", {{"pod", ToString(ref.key)},
                                      {"container", entry.plan->containers[index].name},
                                      {"exit_code", run_end.code},
                                      {"reason", run_end.reason}});
  // After Stop nothing is published any more.
  if (stopped_) return life.OnEnded(run_end, edges_.loop.Now());
  box.ended = run_end;
  AskForMessage(ref, index);
}

void ProcessRunner::AskForMessage(const PodRef& ref, std::size_t index) {
  Entry& entry = pods_.at(ref);
  Box& box = entry.boxes[index];
  // The disk has hung since an earlier run ended. This run's file is removed with the Pod.
  if (std::exchange(box.message_asked, true)) return OnMessage(ref, index, "");
  box.message_patience =
      edges_.loop.After(kDiskPatience, [this, ref, index] { OnMessage(ref, index, ""); });
  RunFor(
      entry.liveness, edges_.disk,
      [&processes = edges_.processes, &files = edges_.files, path = box.message_file] {
        // A little more than is kept: the cut-off bytes may be the rest of a character.
        auto start = processes.ReadStart(path, kMessageBytesMax + 4);
        static_cast<void>(files.Remove(path));  // a file that cannot be removed goes with the Pod
        return start.ok() ? *std::move(start) : "";
      },
      [this, ref, index](const std::string& written) {
        Box& asked = pods_.at(ref).boxes[index];
        asked.message_asked = false;
        if (asked.ended) OnMessage(ref, index, written);
      });
}

void ProcessRunner::OnMessage(const PodRef& ref, std::size_t index, const std::string& written) {
  Entry& entry = pods_.at(ref);
  Box& box = entry.boxes[index];
  box.message_patience.Cancel();
  RunEnd run_end = *std::exchange(box.ended, std::nullopt);
  std::string message = written;
  const bool from_log = entry.plan->containers[index].message_from_log && run_end.code != 0;
  if (message.empty() && from_log) message = box.log->Tail();
  run_end.message = CutText(ToValidUtf8(message), kMessageBytesMax);
  entry.life->container(index).OnEnded(run_end, edges_.loop.Now());
  Advance(ref, true);
}

bool ProcessRunner::End(const PodRef& ref, const kube::Pod* pod) {
  const auto it = pods_.find(ref);
  if (it == pods_.end() || !it->second.life) {
    if (pod == nullptr) Forget(ref);
    pods_.erase(ref);
    return true;
  }
  Entry& entry = it->second;
  Duration grace = entry.plan->grace;
  // Whoever deleted the Pod may have set another grace period. It is counted by our own clock, as a
  // kubelet does: the API server's may differ by any time.
  if (pod != nullptr && pod->meta.deleted && pod->asked_to_go) {
    grace = *pod->meta.deleted - *pod->asked_to_go;
  }
  const bool first = !entry.life->ending();
  entry.life->End(edges_.loop.Now() + grace);
  // Called again at each change of the Pod: a deletion with a shorter grace brings the end nearer.
  if (first || entry.life->anything_runs()) Advance(ref, first);
  if (entry.life->anything_runs() || !MayGo(ref, entry, pod)) return false;
  if (pod == nullptr) Forget(ref);
  return true;
}

// A deleted Pod first publishes how it ended, for whoever deleted it.
bool ProcessRunner::MayGo(const PodRef& ref, Entry& entry, const kube::Pod* pod) {
  if (pod == nullptr || HasEnded(*pod)) return true;
  const Time now = edges_.loop.Now();
  if (!entry.final_status) {
    entry.final_status = now + kFinalStatusWithin;
    entry.due = edges_.loop.At(*entry.final_status, [this, ref] { on_change_(ref); });
  }
  return now >= *entry.final_status;
}

void ProcessRunner::Forget(const PodRef& ref) {
  pods_.erase(ref);
  // A Pod that only the checkpoint knows has no name; Open has removed its directory.
  if (!ref.key.name.empty()) directories_.Remove(ref);
}

void ProcessRunner::Stop() {
  stopped_ = true;
  SignalAll(SIGTERM);
  kill_ = edges_.loop.After(kStopWithin, [this] { SignalAll(SIGKILL); });
}

void ProcessRunner::SignalAll(int signal) {
  for (auto& [ref, entry] : pods_) {
    for (Box& box : entry.boxes) {
      if (box.process) box.process->Signal(signal);
    }
  }
}

}  // namespace galen::agent
