// Gives Pods without a node a node, and their claims devices there (see placement.h).
// Does what kube-scheduler does, for Pods that name "default-scheduler" or no scheduler; it ignores
// others, and Pods with scheduling gates. Belongs to the loop. One Pod at a time: decisions are
// remembered until the watch shows them, so that a slow watch never makes it allocate a device
// twice.
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
  // Listens to the view; construct it before view.Start(). Acts once the view is synced. The
  // arguments outlive the scheduler; its successor completes a half-written placement.
  Scheduler(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log);

  static constexpr const char* kName = "default-scheduler";
  // Changes of the cluster are gathered for this long before waiting Pods are looked at again: many
  // come at once when a driver publishes its slices, and each look goes over all nodes.
  static constexpr Duration kGatherDelay = std::chrono::milliseconds(20);

 private:
  using Queue = WorkQueue<ObjectKey>;

  // An allocation that was sent. It was sent for one version of its claim: a later version either
  // contains it, or shows that it failed.
  struct Assumed {
    std::string uid;
    Json allocation;
    std::uint64_t sent_for = 0;
    bool written = false;      // the server confirmed it; otherwise unknown
    std::string pod_uid = {};  // of a claim that only its owner's status will name
  };
  // A placement being written: one claim after the other, the one for extended resources with the
  // Pod's status for it, then the binding.
  struct Job {
    Json pod;
    Placement placement;
    std::size_t next_claim = 0;
    Queue::Done done;
  };

  // Has every Pod without a node looked at: a change may help it.
  void MarkWaiting();
  // A claim changed (`after` null: it is gone): its Pods are looked at again, and others too when
  // devices became free.
  void OnClaim(const ObjectKey& key, const Json* after);
  // Drops the assumption about the claim once `seen` has the real state.
  void SettleAssumed(const ObjectKey& key, const Json* seen);
  // Decides, and begins to write the decision; or writes the reason into the Pod's status.
  void LookAt(const ObjectKey& key, Queue::Done done);
  // A claim of the Pod was written and is not seen yet: the watch causes the next look.
  bool AwaitsOwnWrites(const Json& pod) const;
  StatusOr<Placement> Decide(const Json& pod);
  // The devices as claims show them, made if need be.
  DeviceBook& Devices();
  const Json& AllocationOf(const Json& claim) const;

  // The next step of job_: a claim that lacks something, or the binding.
  void Advance();
  // Finalizer, then allocation and reservation, each as an update of the version that was read.
  void WriteClaim(ClaimPlacement& claim);
  void WriteClaimStatus(Json claim, const Json& allocation);
  void OnClaimStatus(const ObjectKey& key, const StatusOr<Json>& answer);
  // For an extended resource: creates its claim, then writes the mapping to the Pod's status.
  void MakeClaim(ExtendedPlacement& extended);
  void WriteMappings(const ExtendedPlacement& extended);
  void Bind();
  // Ends job_. A Pod or claim that is gone needs nothing more.
  void End(const Status& status);

  // Frees a claim that only `pod` holds, so that the Pod can go to another node; a claim for its
  // extended resources is deleted once it holds no devices.
  bool ReleaseOne(const Json& pod, const Queue::Done& done);
  // Writes the condition PodScheduled=False and an Event, unless the Pod already shows this.
  void Refuse(const Json& pod, const Status& why, Queue::Done done);

  Loop& loop_;
  ClusterView& view_;
  Log& log_;
  EventRecorder events_;
  ApiCalls calls_;
  std::optional<DeviceBook> devices_;  // empty: slices, rules or classes have changed since
  std::map<ObjectKey, Assumed> assumed_;
  std::optional<Job> job_;
  Queue queue_;
};

}  // namespace galen::cluster_sim
