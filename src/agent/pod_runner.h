// Takes the Pods of a virtual node through their lives: waits for their claims, has them prepared,
// lets them run, and after their deletion has the claims let go of and the Pods removed. Level
// triggered through a merging queue, keyed by the very Pod: one of the same name is another.
// Manager role only; belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/claim_preparer.h"
#include "agent/cluster_view.h"
#include "agent/event_publisher.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/work_queue.h"
#include "kube/client.h"

namespace galen::agent {

class PodRunner {
 public:
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    kube::Client& client;
    const ClusterView& view;
    ClaimPreparer& preparer;
    EventPublisher& events;
  };
  // The Pod's claims have become ready: its containers may be shown as running.
  using OnReady = std::function<void(const ObjectKey& pod)>;

  PodRunner(Edges edges, OnReady on_ready);

  // Every first list is known: now also what the checkpoint remembers of Pods that are gone.
  void Open();
  void MarkDirty(const PodRef& pod);
  bool Runs(const kube::Pod& pod) const;

 private:
  using Done = WorkQueue<PodRef>::Done;

  void Reconcile(const PodRef& ref, Done done);
  void Run(const kube::Pod& pod, Done done);
  void Release(const PodRef& ref, Done done, std::function<void()> next);
  void Delete(const PodRef& ref, Done done);

  Edges edges_;
  const OnReady on_ready_;
  bool open_ = false;
  std::map<PodRef, std::unique_ptr<net::HttpCall>> calls_;
  WorkQueue<PodRef> queue_;
};

}  // namespace galen::agent
