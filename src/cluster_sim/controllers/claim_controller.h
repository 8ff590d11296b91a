// Makes ResourceClaims from templates for Pods, and cleans up after Pods that ended: reservations,
// allocations, generated claims. Does what kube-controller-manager's claim controller does.
// Level-triggered: each look does the next missing write, and the watch causes the next look, so a
// restart at any point continues where it stopped.
// Belongs to the loop.
#pragma once

#include "base/loop/work_queue.h"
#include "cluster_sim/controllers/api_calls.h"
#include "cluster_sim/controllers/cluster_view.h"
#include "cluster_sim/controllers/event_recorder.h"

namespace galen::cluster_sim {

class ClaimController {
 public:
  // Listens to the view; construct it before view.Start(). It acts once the view is synced, and
  // stops when it is destroyed. The arguments outlive the controller.
  ClaimController(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log);

 private:
  using Queue = WorkQueue<ObjectKey>;

  // The first look of both queues, once the view is complete.
  void MarkEverything();
  // The claims that this Pod owns or holds.
  void MarkClaimsOf(const std::string& pod_uid);
  // Creates the claims that the Pod's templates ask for, then names them in its status.
  void LookAtPod(const ObjectKey& key, Queue::Done done);
  // One of these, in this order: free devices, release a deleted claim, delete an orphan.
  void LookAtClaim(const ObjectKey& key, Queue::Done done);

  // The claim for one entry of a Pod. False when it did not exist and is being created or waited
  // for; `done` will be called then.
  bool Ensure(const Json& pod, const std::string& pod_claim, const std::string& template_name,
              const Queue::Done& done);
  // Calls `done`; a permanent refusal becomes an Event of the Pod too.
  void Create(const Json& pod, const Json& claim, Queue::Done done);
  // Sends one write; NotFound counts as success, since a missing object needs no cleaning.
  void Write(net::HttpRequest request, Queue::Done done);
  // Writes `status`, which has fewer holders or devices, and removes the finalizer at once when no
  // devices are left.
  void Release(const Json& claim, Json status, Queue::Done done);
  // Removes the finalizer, so that a deletion can complete.
  void Unprotect(const Json& claim, Queue::Done done);

  ClusterView& view_;
  Log& log_;
  // Members that calls and looks use come first: queues and calls end before them.
  EventRecorder events_;
  ApiCalls calls_;
  Queue pods_;
  Queue claims_;
};

// The name of the claim for `pod_claim` of `pod`: "<pod>-<claim>-<suffix>". The suffix is derived
// from the Pod's uid, so that a second creation finds the first claim.
std::string GeneratedClaimName(const Json& pod, const std::string& pod_claim);

}  // namespace galen::cluster_sim
