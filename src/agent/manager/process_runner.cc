#include "agent/manager/process_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

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
  RunEnd out{.code = end.signal != 0 ? kSignalCodeBase + end.signal : end.code,
             .signal = end.signal,
             .started = started,
             .finished = finished};
  out.reason = end.out_of_memory ? "OOMKilled" : out.code == 0 ? "Completed" : "Error";
  return out;
}

}  // namespace

ProcessRunner::ProcessRunner(Edges edges, Options options, OnChange on_change)
    : edges_(edges), options_(std::move(options)), on_change_(std::move(on_change)) {}

ProcessRunner::~ProcessRunner() = default;

void ProcessRunner::Start() {
  if (const int killed = edges_.processes.KillLeftovers(); killed > 0) {
    edges_.log.Warning("processes that an earlier agent left behind were killed",
                       {{"processes", killed}});
  }
  if (const std::string limitation = edges_.processes.limitation(); !limitation.empty()) {
    edges_.log.Warning("containers run with a limitation", {{"limitation", limitation}});
  }
}

void ProcessRunner::Open() {
  std::set<std::string> known;
  edges_.view.ForEachPod(
      [&](const kube::Pod& pod) { known.insert(DirectoryOfPod(options_.directory, pod.ref())); });
  const StatusOr<std::vector<std::string>> names = edges_.files.List(options_.directory);
  if (!names.ok()) return;  // there is none before the first Pod
  for (const std::string& name : *names) {
    const std::string directory = options_.directory + "/" + name;
    if (!known.contains(directory)) edges_.processes.RemoveTree(directory);
  }
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

// The informer keeps little of a spec; what is to be run is asked for once.
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
  if (!begun.ok()) return TryAgain(ref, entry, begun);
  entry.error.clear();
  Advance(ref, true);
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
  ASSIGN_OR_RETURN(PodPlan plan, PlanOf(object, {.node = options_.node,
                                                 .directory = options_.directory,
                                                 .path = options_.path}));
  // All or nothing: what fails half-way is begun anew.
  std::vector<Box> boxes;
  for (const ContainerPlan& container : plan.containers) {
    // For nobody else: logs and what programs leave.
    RETURN_IF_ERROR(edges_.files.MakeDirectories(container.directory, 0700));
    boxes.push_back({.process = nullptr,
                     .log = std::make_unique<ContainerLog>(edges_.loop, edges_.files,
                                                           container.directory + "/log")});
  }
  entry.plan = std::move(plan);
  entry.boxes = std::move(boxes);
  entry.life.emplace(*entry.plan);
  RestoreLife(*entry.plan, object["status"], edges_.loop.Now(), edges_.loop.WallNow(), *entry.life);
  PublishLimits(ref);
  return OkStatus();
}

// At each start of the agent: who reads the Pod's events knows then what an image or a probe does
// here.
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
  switch (action.kind) {
    case PodLife::Action::Kind::kStart:
      return StartContainer(ref, entry, action.container);
    case PodLife::Action::Kind::kTerminate:
      return entry.boxes[action.container].process->Signal(SIGTERM);
    case PodLife::Action::Kind::kKill:
      return entry.boxes[action.container].process->Signal(SIGKILL);
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
  const StatusOr<ContainerCommand> command = CommandOf(entry, index);
  if (!command.ok()) {
    return life.OnUnable("CreateContainerConfigError", command.status().message(),
                         now + kLookAgain);
  }
  Box& box = entry.boxes[index];
  box.log->BeginRun();
  // What an earlier run left is not this one's message; one that cannot go is no reason not to run.
  const Status removed =
      edges_.files.Remove(plan.directory + "/" + std::string(kTerminationLogName));
  if (!removed.ok()) edges_.log.Debug("termination log stays", {{"error", removed.message()}});
  auto process = edges_.processes.Start(
      *command, [this, ref, index](std::string_view bytes) { OnOutput(ref, index, bytes); },
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

StatusOr<ContainerCommand> ProcessRunner::CommandOf(const Entry& entry, std::size_t index) const {
  const ContainerPlan& plan = entry.plan->containers[index];
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, CdiIdsOf(entry.plan->ref, plan));
  ASSIGN_OR_RETURN(auto variables, CdiEnvironment(edges_.files, options_.cdi_directories, ids));
  // What the driver says of its device wins over the spec, as a runtime adds it last; but not over
  // that by which we know whose process it is.
  for (const auto& [name, value] : plan.environment) {
    const bool ours = name == kContainerDirectoryVariable || name == kTerminationLogVariable;
    if (ours || !variables.contains(name)) variables[name] = value;
  }
  ContainerCommand command{.id = fmt::format("{}.{}.{}", entry.plan->ref.uid, plan.name,
                                             entry.life->container(index).restarts()),
                           .command = plan.command,
                           .environment = {},
                           .working_directory = plan.working_directory,
                           .memory_bytes_max = plan.memory_bytes_max};
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

void ProcessRunner::OnOutput(const PodRef& ref, std::size_t index, std::string_view bytes) {
  Box& box = pods_.at(ref).boxes[index];
  const Status appended = box.log->Append(bytes);
  // A full disk costs lines of a log, not the container.
  if (appended.ok() || std::exchange(box.log_trouble, true)) return;
  edges_.log.Warning("output of a container is lost",
                     {{"pod", ToString(ref.key)}, {"error", appended.message()}});
}

void ProcessRunner::OnEnd(const PodRef& ref, std::size_t index, const ProcessEnd& end) {
  Entry& entry = pods_.at(ref);
  Box& box = entry.boxes[index];
  box.process.reset();
  ContainerLife& life = entry.life->container(index);
  RunEnd run_end = EndOf(end, life.started(), edges_.loop.WallNow());
  run_end.message = MessageOf(entry.plan->containers[index], *box.log, run_end.code);
  edges_.log.Info("container ended", {{"pod", ToString(ref.key)},
                                      {"container", entry.plan->containers[index].name},
                                      {"exit_code", run_end.code},
                                      {"reason", run_end.reason}});
  life.OnEnded(run_end, edges_.loop.Now());
  Advance(ref, true);
}

std::string ProcessRunner::MessageOf(const ContainerPlan& plan, const ContainerLog& log, int code) {
  // A little more than is kept: what is cut off may be the rest of a character.
  const StatusOr<std::string> written = edges_.processes.ReadStart(
      plan.directory + "/" + std::string(kTerminationLogName), kMessageBytesMax + 4);
  std::string message = written.ok() ? *written : "";
  if (message.empty() && plan.message_from_log && code != 0) message = log.Tail();
  return CutText(ToValidUtf8(message), kMessageBytesMax);
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
  // Whoever deleted it may have said another. From now on by our own clock, as a kubelet counts:
  // the API server's may differ from it by any time.
  if (pod != nullptr && pod->meta.deleted && pod->asked_to_go) {
    grace = *pod->meta.deleted - *pod->asked_to_go;
  }
  const bool first = !entry.life->ending();
  entry.life->End(edges_.loop.Now() + grace);
  // Asked again at each news of the Pod: a deletion that hurries brings the end nearer.
  if (first || entry.life->anything_runs()) Advance(ref, first);
  if (entry.life->anything_runs() || !MayGo(ref, entry, pod)) return false;
  if (pod == nullptr) Forget(ref);
  return true;
}

// Whoever deletes a Pod may want to know how it ended: it says so before it is gone.
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
  // The name of one that only the checkpoint remembers is not known; Open has seen to it.
  if (!ref.key.name.empty()) {
    edges_.processes.RemoveTree(DirectoryOfPod(options_.directory, ref));
  }
}

std::optional<Json> ProcessRunner::StatusOf(const PodRef& pod) const {
  const auto it = pods_.find(pod);
  if (it == pods_.end() || !it->second.life) return std::nullopt;
  return RunStatusOf(*it->second.plan, *it->second.life);
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

std::string ProcessRunner::trouble() const {
  const auto failed = [](const auto& item) { return !item.second.error.empty(); };
  const auto first = std::ranges::find_if(pods_, failed);
  if (first == pods_.end()) return "";
  const auto count = std::ranges::count_if(pods_, failed);
  std::string text =
      fmt::format("{} cannot be run: {}", ToString(first->first.key), first->second.error);
  return count == 1 ? text
                    : text + fmt::format(", and {} more",
                                         Counted(static_cast<std::size_t>(count - 1), "Pod"));
}

bool ProcessRunner::idle() const {
  return std::ranges::all_of(pods_, [](const auto& item) {
    return std::ranges::all_of(item.second.boxes,
                               [](const Box& box) { return box.process == nullptr; });
  });
}

}  // namespace galen::agent
