// Runs the containers of a virtual node's Pods as processes of this machine: starts them in their
// order, waits out the back-off, keeps their output, ends them within their grace, and knows what
// became of each (run_status.h). Its files are written through a queue of their own: a disk that
// hangs delays only Pods that wait for their directories. Manager role only, and only where it is
// asked for (docs/adr/0015-processes-end-with-the-agent.md). Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/containers/container_log.h"
#include "agent/containers/container_processes.h"
#include "agent/containers/pod_directories.h"
#include "agent/containers/pod_life.h"
#include "agent/holdings/claim_index.h"
#include "agent/manager/claim_checkpoint.h"
#include "agent/publish/event_publisher.h"
#include "base/files/disk_queue.h"
#include "base/loop/backoff.h"
#include "kube/client.h"

namespace galen::agent {

// Keyed by name and UID. The arguments outlive it; destroying it kills what runs.
class ProcessRunner {
 public:
  // How soon to try again what may resolve itself: a CDI file that is being written.
  static constexpr Duration kLookAgain = std::chrono::seconds(10);
  // A deleted Pod is removed when it shows how its containers ended, or after this.
  static constexpr Duration kFinalStatusWithin = std::chrono::seconds(2);
  // How long processes have after SIGTERM when the agent ends; then they are killed.
  static constexpr Duration kStopWithin = std::chrono::seconds(3);
  // A disk that takes longer hangs: how a container ended is reported without its message then.
  static constexpr Duration kDiskPatience = std::chrono::seconds(1);
  // Kubernetes' bound of a termination message.
  static constexpr std::size_t kMessageBytesMax = 4096;
  static constexpr BackoffPolicy kReadAgain{.first = std::chrono::milliseconds(100),
                                            .most = std::chrono::seconds(10)};

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    FileSystem& files;
    DiskQueue& disk;  // for what containers write; other parts do not wait for it
    kube::Client& client;
    EventPublisher& events;
    ContainerProcesses& processes;
    const NodeView& view;
    const ClaimCheckpoint& prepared;
  };
  // The node's name and the containers' places.
  struct Options {
    std::string node;
    std::string directory;  // of all Pods' directories
    std::string path;       // PATH of the containers
    std::vector<std::string> cdi_directories;
  };
  // The state of the Pod's containers changed, or End may now return true.
  using OnChange = std::function<void(const PodRef& pod)>;

  ProcessRunner(Edges edges, Options options, OnChange on_change);
  ~ProcessRunner();

  // Before anything else: kills what an agent before this one left behind.
  void Start();
  // Every Pod of the node is known: directories of other Pods are removed.
  void Open();

  // For a Pod that still shows containers of an earlier agent as running: publishes that they are
  // not, also before its claims are ready. Does nothing for another Pod.
  void Correct(const kube::Pod& pod);
  // The Pod's claims are ready, so its containers may run. Repeating it does nothing.
  void Run(const kube::Pod& pod);
  // The Pod is to end, has ended, or is gone (null). True once nothing of it runs and the Pod shows
  // that as far as it can; until then on_change says when to ask again.
  bool End(const PodRef& ref, const kube::Pod* pod);
  // nullopt for a Pod that was not run.
  std::optional<Json> StatusOf(const PodRef& pod) const;

  // The agent ends: everything gets SIGTERM, after kStopWithin SIGKILL, and nothing is started or
  // published any more.
  void Stop();
  // Whether nothing runs.
  bool idle() const;
  // Whether a write of ours is under way.
  bool writes() const;
  // What keeps Pods from starting, as a sentence; "" when nothing does.
  std::string trouble() const;

 private:
  // One container's process and what belongs to it.
  struct Box {
    std::unique_ptr<ContainerLog> log;  // outlives the process, which writes to it
    std::unique_ptr<ContainerProcess> process;
    bool log_trouble = false;     // logged already
    std::string message_file;     // of the newest run
    bool message_asked = false;   // its message is being read
    std::optional<RunEnd> ended;  // how the newest run ended, until its message is known
    Timer message_patience;
  };
  struct Entry {
    bool may_run = false;                 // its claims are ready
    std::string error;                    // why it was not begun, published already; or ""
    std::unique_ptr<net::HttpCall> read;  // while the Pod's object is being read
    Backoff backoff{kReadAgain};
    std::optional<PodPlan> plan;
    std::optional<PodLife> life;  // once its directories are there
    std::vector<Box> boxes;       // in the order of the plan
    Timer due;
    std::optional<Time> final_status;  // when it goes even if the API does not say how it ended
    Liveness liveness;                 // for answers of the disk
  };

  void Read(const PodRef& ref);
  void OnRead(const PodRef& ref, const StatusOr<Json>& object);
  // Plans the Pod and asks for its directories.
  Status Begin(const PodRef& ref, const Json& object, Entry& entry);
  void OnDirectories(const PodRef& ref, const Json& status, const Status& made);
  Box MakeBox(const PodRef& ref, std::size_t index, const ContainerPlan& container);
  // The Pod could not be started, which is published once for each reason.
  void TryAgain(const PodRef& ref, Entry& entry, const Status& why);
  // Does what is due, until nothing is; publishes it, and any change before (`changed`).
  void Advance(const PodRef& ref, bool changed);
  void Perform(const PodRef& ref, Entry& entry, const PodLife::Action& action);
  void StartContainer(const PodRef& ref, Entry& entry, std::size_t index);
  StatusOr<ContainerCommand> CommandOf(const Entry& entry, std::size_t index,
                                       const std::string& message_file) const;
  StatusOr<std::vector<std::string>> CdiIdsOf(const PodRef& ref, const ContainerPlan& plan) const;
  void OnOutputLost(const PodRef& ref, std::size_t index, std::size_t bytes, const Status& why);
  void OnEnd(const PodRef& ref, std::size_t index, const ProcessEnd& end);
  // Has the run's message file read and removed.
  void AskForMessage(const PodRef& ref, std::size_t index);
  // The run's message is known, or is not waited for any longer.
  void OnMessage(const PodRef& ref, std::size_t index, const std::string& written);
  bool MayGo(const PodRef& ref, Entry& entry, const kube::Pod* pod);
  void Forget(const PodRef& ref);
  void SignalAll(int signal);
  void PublishLimits(const PodRef& ref);

  const Edges edges_;
  const Options options_;
  const OnChange on_change_;
  PodDirectories directories_;
  bool stopped_ = false;
  Timer kill_;
  std::map<PodRef, Entry> pods_;
};

}  // namespace galen::agent
