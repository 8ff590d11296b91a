// Gives Pods without a node a node, and their claims devices there, by first fit (see placement.h).
// Does what kube-scheduler does for Pods that name "default-scheduler" or nobody; others, and Pods
// with scheduling gates, it leaves alone.
// Belongs to the loop. One Pod at a time: what was decided is remembered until it is seen as
// written, so that a watch that lags never makes it hand a device out twice.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/loop/work_queue.h"
#include "cluster_sim/allocation/placement.h"
#include "cluster_sim/controllers/api_calls.h"
#include "cluster_sim/controllers/cluster_view.h"
#include "cluster_sim/controllers/event_recorder.h"

namespace galen::cluster_sim {

class Scheduler {
 public:
  // Listens to the view; construct it before view.Start(). Acts by itself once the view is synced.
  // What is lent outlives the scheduler; a placement half written is taken up by the next one.
  Scheduler(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log);

  static constexpr const char* kName = "default-scheduler";
  // Changes of the cluster are gathered for this long before waiting Pods are looked at again: many
  // come at once when a driver publishes its slices, and each look goes over all nodes.
  static constexpr Duration kGatherDelay = std::chrono::milliseconds(20);

 private:
  using Queue = WorkQueue<ObjectKey>;

  // An allocation that was sent. It was sent for one version of its claim: once a later version is
  // seen, either that holds it or it never will.
  struct Assumed {
    std::string uid;
    Json allocation;
    std::uint64_t sent_for = 0;
    bool written = false;      // the server said so; otherwise it may or may not be
    std::string pod_uid = {};  // of a claim that only its owner's status will name
  };
  // A placement being written: claims one after the other, the one for extended resources with what
  // the Pod's status says of it, then the binding.
  struct Job {
    Json pod;
    Placement placement;
    std::size_t next_claim = 0;
    Queue::Done done;
  };

  // Every Pod without a node is to be looked at: something changed that may help it.
  void MarkWaiting();
  // A claim changed (`after` null: it is gone): its Pods look again, and others too when devices
  // came free.
  void OnClaim(const ObjectKey& key, const Json* after);
  // Forgets what was assumed of the claim once `seen` has the real state.
  void SettleAssumed(const ObjectKey& key, const Json* seen);
  // Decides, and begins to write what was decided; or says in the Pod's status why not.
  void LookAt(const ObjectKey& key, Queue::Done done);
  // A claim of the Pod was written and is not seen yet: the watch brings the next look.
  bool AwaitsOwnWrites(const Json& pod) const;
  PlacementFacts Facts();
  bool InUse(const DeviceId& device) const;
  const Json& AllocationOf(const Json& claim) const;

  // The next step of job_: a claim that lacks something, or the binding.
  void Advance();
  // Finalizer, then allocation and reservation, each as an update of the version that was read.
  void WriteClaim(ClaimPlacement& claim);
  void WriteClaimStatus(Json claim, const Json& allocation);
  void OnClaimStatus(const ObjectKey& key, const StatusOr<Json>& answer);
  // What an extended resource needs: its claim, then the mapping in the Pod's status.
  void MakeClaim(ExtendedPlacement& extended);
  void WriteMappings(const ExtendedPlacement& extended);
  void Bind();
  // Ends job_. A Pod or claim that is gone needs no more.
  void End(const Status& status);

  // Takes back a claim that only `pod` holds, so that the Pod can go to another node; one that was
  // made for its extended resources goes, once it holds nothing.
  bool ReleaseOne(const Json& pod, const Queue::Done& done);
  // Writes the condition PodScheduled=False and an Event, unless the Pod says this already.
  void Refuse(const Json& pod, const Status& why, Queue::Done done);

  Loop& loop_;
  ClusterView& view_;
  EventRecorder events_;
  ApiCalls calls_;
  std::optional<DeviceInventory> inventory_;  // empty: slices or rules changed since
  std::map<ObjectKey, Assumed> assumed_;
  std::optional<Job> job_;
  Queue queue_;
};

}  // namespace galen::cluster_sim
