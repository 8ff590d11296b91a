// Takes the Pods of a virtual node through their lives: waits for their claims, has them prepared,
// lets them run, and after their deletion has the claims let go of and the Pods removed. Level
// triggered, through a merging queue that is keyed by name and UID. Manager role only; belongs to
// the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/api_edges.h"
#include "agent/holdings/node_view.h"
#include "agent/manager/claim_caller.h"
#include "agent/manager/process_runner.h"
#include "agent/publish/event_publisher.h"
#include "base/loop/work_queue.h"

namespace galen::agent {

class PodRunner {
 public:
  // What it needs of the agent; borrowed.
  struct Edges : ApiEdges {
    const NodeView& view;
    ClaimCaller& preparer;
    EventPublisher& events;
    ProcessRunner* processes = nullptr;  // where containers run as processes
  };
  // The Pod's claims have become ready: its containers may be shown as running. Repeated at each
  // look of a Pod that runs.
  using OnReady = std::function<void(const ObjectKey& pod)>;

  // For a Pod that fails: first short waits, for a driver that is being replaced, then long ones.
  static constexpr BackoffPolicy kBackoff{.first = std::chrono::milliseconds(100),
                                          .most = std::chrono::seconds(30)};
  // For a failure that a retry by itself does not help (a checkpoint that may not be written): an
  // operator must act, which causes no event. Changes of the Pod are handled at once.
  static constexpr BackoffPolicy kPatientBackoff{.first = std::chrono::seconds(5),
                                                 .most = std::chrono::minutes(5)};

  PodRunner(Edges edges, OnReady on_ready);

  // Every first list was read: from now on Pods are handled, including those that are gone and only
  // in the checkpoint. Marks from before are dropped, since this marks every Pod.
  void Open();
  // Has the Pod looked at. A ref with a uid but no name is a Pod that only the checkpoint knows.
  void MarkDirty(const PodRef& pod);
  // Whether its containers are to be shown as running: not deleted, not ended, and every claim
  // ready.
  bool Runs(const kube::Pod& pod) const;
  // A driver can be asked again: what failed is tried at once rather than when its delay is over.
  void OnDriverConnected();
  // The first Pod whose claims cannot be prepared or unprepared, and why; "" when there is none.
  std::string trouble() const;

 private:
  using Done = WorkQueue<PodRef>::Done;
  // What a Pod last failed at. Kept here because the queue's delays cannot be shortened: after a
  // driver is back its Pods would wait for half a minute.
  struct Failure {
    std::string error;
    bool unpreparing = false;
    Backoff backoff{kBackoff};
    Backoff patient{kPatientBackoff};
    Time not_before{};
  };

  void Reconcile(const PodRef& ref, Done done);
  // Prepares what is not ready; Begin when all is.
  void Run(const kube::Pod& pod, Done done);
  // The Pod's claims are ready.
  void Begin(const PodRef& ref);
  // Unprepares the Pod's claims, then goes on with `next`, if any.
  void Release(const PodRef& ref, Done done, std::function<void()> next);
  void Delete(const PodRef& ref, Done done);
  // Tries again later, and says so once on the Pod and in the log for each different reason.
  void Fail(const PodRef& ref, bool unpreparing, const Status& status, Done done);
  void PublishFailure(const PodRef& ref, bool unpreparing, const Status& status);
  // For a Pod whose claim is being worked on for another: waits until a round of calls ends; that
  // is no failure.
  void Await(const PodRef& ref, Done done);
  void WakeWaiting();

  Edges edges_;
  const OnReady on_ready_;
  // Before the lists were read every Pod would seem to be gone, and its claims be unprepared.
  bool open_ = false;
  std::set<PodRef> waiting_;
  std::map<PodRef, Failure> failures_;
  std::map<PodRef, std::unique_ptr<net::HttpCall>> calls_;
  WorkQueue<PodRef> queue_;
};

}  // namespace galen::agent
