// Hollow kubelets: nodes that run nothing, but report their Pods as running. For demos and scale
// tests. One object for all simulated nodes of a process, since they share one view: a node costs a
// map entry, not a watch. Nodes have no heartbeat and no Lease: a node is Ready until SetReady()
// changes that, and Unknown in a later run that does not simulate it. Belongs to the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/loop/work_queue.h"
#include "base/status.h"
#include "base/time.h"
#include "cluster_sim/controllers/api_calls.h"
#include "cluster_sim/controllers/cluster_view.h"

namespace galen::cluster_sim {

// ---- A kubelet's status writes for a Pod whose containers are only simulated. Pure: each function
// gives a strategic merge patch of the Pod's status subresource, which names the Pod's uid and
// leaves conditions of others alone.

// Where and when the Pod runs. Addresses are only shown, never dialled.
struct HollowPlace {
  std::string host_ip;
  std::string pod_ip;
  WallTime now{};
};

// Every container runs: init containers have succeeded, sidecars and main ones are ready. `pod` is
// the API's object; restarts begin at 0, so this is for a Pod that has not run yet.
Json RunningPatch(const Json& pod, const HollowPlace& place);

// `container` of spec.containers ended with `exit_code` at `now`; it restarts if spec.restartPolicy
// says so, at once and without a kubelet's backoff; the Pod is Succeeded or Failed when no
// container runs any more. Exit codes above 128 count as signals. NotFound: it does not run. The
// patch holds for the version of `pod` only, else 409.
StatusOr<Json> CrashPatch(const Json& pod, const std::string& container, int exit_code,
                          WallTime now);

// Prepares a Pod's claims on its node before its containers start, and unprepares them after they
// ended, like a driver's NodePrepareResources and NodeUnprepareResources.
class PodPreparation {
 public:
  virtual ~PodPreparation() = default;
  // `pod` is the API's object and exists during the call. `done` is called once, now or later. Both
  // may be repeated after a failure or a restart; Unprepare is called for every Pod that ends on
  // its node, also if its claims were never prepared.
  virtual void Prepare(const Json& pod, std::function<void(const Status&)> done) = 0;
  virtual void Unprepare(const Json& pod, std::function<void(const Status&)> done) = 0;
};

// For nodes without drivers: every claim counts as prepared.
class NoPreparation final : public PodPreparation {
 public:
  void Prepare(const Json&, std::function<void(const Status&)> done) override { done(OkStatus()); }
  void Unprepare(const Json&, std::function<void(const Status&)> done) override {
    done(OkStatus());
  }
};

// A node to simulate.
struct SimulatedNodeOptions {
  std::string name;
  // Added to hostname, os and galen.dev/simulated; a label of the same name replaces those.
  std::map<std::string, std::string> labels = {};
  // galen-agent in the manager role runs its Pods. Only the Node object is simulated.
  bool is_virtual = false;
  // The node's capacity of Pods; the kubelet's default of maxPods.
  int pods_max = 110;
};

class SimulatedNodes {
 public:
  // Listens to the view; construct it before view.Start(). Acts once the view is synced. The
  // arguments outlive this.
  SimulatedNodes(Loop& loop, ClusterView& view, kube::Client& client, Random& random, Log& log,
                 PodPreparation& preparation);

  // Creates the Node object, now or once the view is synced; before or after view.Start().
  // AlreadyExists, InvalidArgument for a name that Kubernetes would refuse, ResourceExhausted
  // beyond kNodesMax. A stored Node of this name is taken over.
  Status Add(SimulatedNodeOptions options);
  // Sets the node's Ready condition. Its Pods keep running. NotFound when this does not simulate
  // it.
  Status SetReady(const std::string& node, bool ready);
  // Ends a container, as if its program had ended; several orders for a Pod are carried out one by
  // one. Waits for a Pod that has not started. Ignored if the container does not run then.
  void Crash(const ObjectKey& pod, const std::string& container, int exit_code);

  // More than Kubernetes itself supports (5,000). At the limit: ResourceExhausted.
  static constexpr std::size_t kNodesMax = 10'000;
  // Pods of one node; more than any kubelet's setting, and as many as these simulated ones can
  // handle.
  static constexpr int kPodsPerNodeMax = 4'096;

 private:
  using PodQueue = WorkQueue<ObjectKey>;
  using NodeQueue = WorkQueue<std::string>;

  struct Node {
    SimulatedNodeOptions options;
    bool ready = true;
    std::size_t index = 0;  // determines its addresses
  };
  // An order of Crash() that was not carried out yet.
  struct CrashOrder {
    std::string container;
    int exit_code = 0;
  };

  // Whether the Pod is on a node that this simulates.
  bool Runs(const Json& pod) const;
  void LookAtNode(const std::string& name, NodeQueue::Done done);
  // `node`, null when it is gone, is no longer simulated: its Ready condition becomes Unknown.
  void AbandonNode(const std::string& name, const Json* node, const ApiCalls::Answer& answer);
  void LookAtPod(const ObjectKey& key, PodQueue::Done done);
  // Every claim has its devices and is reserved for the Pod: a kubelet checks this before it starts
  // anything.
  bool ClaimsAreReady(const Json& pod) const;
  void StartPod(const Json& pod, PodQueue::Done done);
  void StopPod(const Json& pod, PodQueue::Done done);
  void CrashPod(const Json& pod, PodQueue::Done done);
  void PatchPod(const Json& pod, const Json& patch, PodQueue::Done done);

  Loop& loop_;
  ClusterView& view_;
  Log& log_;
  PodPreparation& preparation_;
  ApiCalls calls_;
  std::map<std::string, Node> nodes_;
  std::map<ObjectKey, std::vector<CrashOrder>> crashes_;
  std::set<std::string> unprepared_;  // uids of Pods that ended and still exist
  std::size_t last_pod_address_ = 0;
  NodeQueue node_queue_;
  PodQueue pod_queue_;
};

}  // namespace galen::cluster_sim
