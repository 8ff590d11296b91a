// Makes ResourceClaims from templates for Pods, and cleans up behind Pods that ended: reservations,
// allocations, generated claims. Does what kube-controller-manager's claim controller does.
// Level-triggered: each look does the next write that is missing, and the watch brings the look
// after it, so a restart at any point goes on where it stopped.
// Belongs to the loop.
#pragma once

#include "base/loop/work_queue.h"
#include "cluster_sim/controllers/api_calls.h"
#include "cluster_sim/controllers/cluster_view.h"
#include "cluster_sim/controllers/event_recorder.h"

namespace galen::cluster_sim {

class ClaimController {
 public:
  // Listens to the view; construct it before view.Start(). It acts by itself once the view is
  // synced, and stops when it is destroyed. What is lent outlives the controller.
  ClaimController(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log);

 private:
  using Queue = WorkQueue<ObjectKey>;

  // Both queues' first look, once the view is whole.
  void MarkEverything();
  // The claims that this Pod owns or holds.
  void MarkClaimsOf(const std::string& pod_uid);
  // Makes the claims that the Pod's templates ask for, then names them in its status.
  void LookAtPod(const ObjectKey& key, Queue::Done done);
  // One of, in this order: give devices back, let a deleted claim go, delete an orphan.
  void LookAtClaim(const ObjectKey& key, Queue::Done done);

  // The claim for one entry of a Pod. False when it was not there and is being made or waited for;
  // `done` is used up then.
  bool Ensure(const Json& pod, const std::string& pod_claim, const std::string& template_name,
              const Queue::Done& done);
  // Ends in `done`; a refusal that repeating cannot help becomes an Event of the Pod too.
  void Create(const Json& pod, const Json& claim, Queue::Done done);
  // Sends one write; NotFound counts as done, since what is gone needs no cleaning.
  void Write(net::HttpRequest request, Queue::Done done);
  // Writes `status`, which holds less than the claim does now, and lifts the finalizer in the same
  // breath once no devices are left.
  void Release(const Json& claim, Json status, Queue::Done done);
  // Takes the finalizer off, so that a deletion can come through.
  void Unprotect(const Json& claim, Queue::Done done);

  ClusterView& view_;
  Log& log_;
  // Members that calls and looks use come first: queues and calls end before them.
  EventRecorder events_;
  ApiCalls calls_;
  Queue pods_;
  Queue claims_;
};

// The name of the claim that is made for `pod_claim` of `pod`: "<pod>-<claim>-<suffix>". The suffix
// follows from the Pod's uid, so that making a claim twice finds the first instead.
std::string GeneratedClaimName(const Json& pod, const std::string& pod_claim);

}  // namespace galen::cluster_sim
