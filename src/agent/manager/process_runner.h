// Runs the containers of a virtual node's Pods as processes of this machine: starts them in their
// order, waits out the back-off, keeps their output, ends them within their grace, and knows what
// became of each (run_status.h). Manager role only, and only where it is asked for
// (docs/adr/0015-processes-end-with-the-agent.md). Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/containers/container_log.h"
#include "agent/containers/container_processes.h"
#include "agent/containers/pod_life.h"
#include "agent/holdings/claim_index.h"
#include "agent/manager/claim_checkpoint.h"
#include "agent/publish/event_publisher.h"
#include "base/loop/backoff.h"
#include "kube/client.h"

namespace galen::agent {

// Keyed by the very Pod: one of the same name is another. What is lent outlives it; destroying it
// kills what runs.
class ProcessRunner {
 public:
  // What a container lacks may come by itself: a CDI file that is being written.
  static constexpr Duration kLookAgain = std::chrono::seconds(10);
  // A Pod that was deleted goes when it has said how its containers ended, or after this.
  static constexpr Duration kFinalStatusWithin = std::chrono::seconds(2);
  // What got SIGTERM because the agent ends, and goes on, is killed.
  static constexpr Duration kStopWithin = std::chrono::seconds(3);
  // Kubernetes' bound of a termination message.
  static constexpr std::size_t kMessageBytesMax = 4096;
  static constexpr BackoffPolicy kReadAgain{.first = std::chrono::milliseconds(100),
                                            .most = std::chrono::seconds(10)};

  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    FileSystem& files;
    kube::Client& client;
    EventPublisher& events;
    ContainerProcesses& processes;
    const NodeView& view;
    const ClaimCheckpoint& prepared;
  };
  struct Options {
    std::string node;
    std::string directory;  // of all Pods' directories
    std::string path;       // PATH of the containers
    std::vector<std::string> cdi_directories;
  };
  // What became of the Pod's containers is another now, or it may be let go of.
  using OnChange = std::function<void(const PodRef& pod)>;

  ProcessRunner(Edges edges, Options options, OnChange on_change);
  ~ProcessRunner();

  // Before anything else: kills what an agent before this one left behind.
  void Start();
  // Every Pod of the node is known: directories of others are removed.
  void Open();

  // A Pod that shows containers that run, which an agent before this one started: it is to say
  // that they do not, also while its claims are not ready yet. Does nothing for another Pod.
  void Correct(const kube::Pod& pod);
  // The Pod's claims are ready, so its containers may run. Repeating it does nothing.
  void Run(const kube::Pod& pod);
  // The Pod is to go, or has ended, or is gone (null). True once nothing of it runs and the Pod
  // says so as far as it can; until then on_change says when to ask again.
  bool End(const PodRef& ref, const kube::Pod* pod);
  // nullopt for a Pod that was not run.
  std::optional<Json> StatusOf(const PodRef& pod) const;

  // The agent ends: everything gets SIGTERM, after kStopWithin SIGKILL, and nothing is started or
  // published any more.
  void Stop();
  // Whether nothing runs.
  bool idle() const;
  // What keeps Pods from being begun; "" when nothing does.
  std::string trouble() const;

 private:
  // One container's process and what belongs to it.
  struct Box {
    std::unique_ptr<ContainerProcess> process;
    std::unique_ptr<ContainerLog> log;
    bool log_trouble = false;  // logged already
  };
  struct Entry {
    bool may_run = false;                 // its claims are ready
    std::string error;                    // why it was not begun, published already; or ""
    std::unique_ptr<net::HttpCall> read;  // while its object is asked for
    Backoff backoff{kReadAgain};
    std::optional<PodPlan> plan;
    std::optional<PodLife> life;
    std::vector<Box> boxes;  // in the order of the plan
    Timer due;
    std::optional<Time> final_status;  // when it goes even if the API does not say how it ended
  };

  void Read(const PodRef& ref);
  void OnRead(const PodRef& ref, const StatusOr<Json>& object);
  Status Begin(const PodRef& ref, const Json& object, Entry& entry);
  // It could not be begun, which is published once for each reason.
  void TryAgain(const PodRef& ref, Entry& entry, const Status& why);
  // Does what is due, until nothing is; reports it, and what `changed` before.
  void Advance(const PodRef& ref, bool changed);
  void Perform(const PodRef& ref, Entry& entry, const PodLife::Action& action);
  void StartContainer(const PodRef& ref, Entry& entry, std::size_t index);
  StatusOr<ContainerCommand> CommandOf(const Entry& entry, std::size_t index) const;
  StatusOr<std::vector<std::string>> CdiIdsOf(const PodRef& ref, const ContainerPlan& plan) const;
  void OnOutput(const PodRef& ref, std::size_t index, std::string_view bytes);
  void OnEnd(const PodRef& ref, std::size_t index, const ProcessEnd& end);
  std::string MessageOf(const ContainerPlan& plan, const ContainerLog& log, int code);
  bool MayGo(const PodRef& ref, Entry& entry, const kube::Pod* pod);
  void Forget(const PodRef& ref);
  void SignalAll(int signal);
  void PublishLimits(const PodRef& ref);

  const Edges edges_;
  const Options options_;
  const OnChange on_change_;
  bool stopped_ = false;
  Timer kill_;
  std::map<PodRef, Entry> pods_;
};

}  // namespace galen::agent
