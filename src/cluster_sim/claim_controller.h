// Makes ResourceClaims from templates for Pods, and cleans up behind Pods that ended: reservations,
// allocations, generated claims. Does what kube-controller-manager's claim controller does.
// Belongs to the loop; each look does the next write and the watch brings the look after it.
#pragma once

#include "base/work_queue.h"
#include "cluster_sim/api_calls.h"
#include "cluster_sim/cluster_view.h"
#include "cluster_sim/event_recorder.h"

namespace galen::cluster_sim {

class ClaimController {
 public:
  // Before view.Start(). What is lent outlives the controller.
  ClaimController(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log);

 private:
  using Queue = WorkQueue<ObjectKey>;

  void MarkEverything();
  void MarkClaimsOf(const std::string& pod_uid);
  void LookAtPod(const ObjectKey& key, Queue::Done done);
  void LookAtClaim(const ObjectKey& key, Queue::Done done);

  // The claim for one entry of a Pod; false when it was not there and is being made or waited for.
  bool Ensure(const Json& pod, const std::string& pod_claim, const std::string& template_name,
              const Queue::Done& done);
  void Create(const Json& pod, const Json& claim, Queue::Done done);
  // Sends one write; NotFound counts as done, since what is gone needs no cleaning.
  void Write(net::HttpRequest request, Queue::Done done);
  void Release(const Json& claim, Json status, Queue::Done done);
  void Unprotect(const Json& claim, Queue::Done done);

  ClusterView& view_;
  Log& log_;
  EventRecorder events_;
  ApiCalls calls_;
  Queue pods_;
  Queue claims_;
};

// The name of the claim that is made for `pod_claim` of `pod`: "<pod>-<claim>-<suffix>". The suffix
// follows from the Pod's uid, so that making a claim twice finds the first instead.
std::string GeneratedClaimName(const Json& pod, const std::string& pod_claim);

}  // namespace galen::cluster_sim
