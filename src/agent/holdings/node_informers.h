// The part of the cluster that concerns one node: its Pods and the slices of its drivers, kept by
// watching, and the claims that its Pods name. Belongs to the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "base/log.h"
#include "base/loop/work_queue.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects/resource_slice.h"

namespace galen::agent {

// The claims that the Pods of this node name, each read by its name, as the kubelet does: a watch
// would bring every claim of the cluster to every node (docs/adr/0011). A claim that does not
// exist, is not allocated or not yet reserved for its Pod is asked for again with backoff. One that
// all its Pods have is not read again, since an allocation stays as long as a Pod holds it, until a
// new Pod names it: a group's claim may have been freed and allocated anew.
class NodeClaims {
 public:
  // Claims past this number wait until there is room, which is logged: no node holds as many.
  static constexpr std::size_t kClaimsMax = kNodeClaimsMax;
  // A claim mostly exists before its Pod comes to a node; one that does not may take its time.
  static constexpr BackoffPolicy kBackoff{.first = std::chrono::milliseconds(100),
                                          .most = std::chrono::seconds(30)};

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    kube::Client& client;
  };
  // `on_change` names a claim that is new, different or gone; `on_answer` runs after each answer.
  NodeClaims(Edges edges, std::function<void(const ObjectKey&)> on_change,
             std::function<void()> on_answer);

  // The Pod is new, different or, with null, gone.
  void PodChanged(const ObjectKey& key, const kube::Pod* pod);

  const Claim* Find(const ObjectKey& key) const;
  // The claim as it applies to that Pod; nullptr until it was read after the Pod appeared.
  const Claim* FindFor(const kube::Pod& pod, const ObjectKey& key) const;
  // Whether the server has answered for every claim that is named.
  bool settled() const { return unanswered_.empty(); }
  // What is wrong, as a sentence; "" when nothing is.
  std::string trouble() const;

 private:
  using Done = WorkQueue<ObjectKey>::Done;
  struct Holder {
    std::string uid, group;
    bool ended = false;
    std::set<ObjectKey> claims;
    std::set<ObjectKey> unread;  // those of them that were known or asked for when the Pod came
  };

  void Want(const ObjectKey& claim, const ObjectKey& pod);
  // Takes in claims that waited for room, as far as there is some now.
  void WantWaiting();
  void Unwant(const ObjectKey& claim, const ObjectKey& pod);
  // Whether asking again could change what is known of the claim.
  bool IsOpen(const ObjectKey& claim) const;
  bool SomePodWaits(const ObjectKey& claim) const;
  void Look(const ObjectKey& claim, Done done);
  void OnAnswer(const ObjectKey& claim, const StatusOr<Json>& reply, Done done);
  Status TakeIn(const ObjectKey& claim, const StatusOr<Json>& reply);
  void Replace(const ObjectKey& key, std::optional<Claim> claim);

  Edges edges_;
  const std::function<void(const ObjectKey&)> on_change_;
  const std::function<void()> on_answer_;
  std::map<ObjectKey, Claim> claims_;
  std::map<ObjectKey, Holder> pods_;
  std::map<ObjectKey, std::set<ObjectKey>> pods_of_;  // by claim
  std::set<ObjectKey> unanswered_;
  std::set<ObjectKey> outdated_;               // read before a Pod that names them existed
  std::map<ObjectKey, std::string> troubles_;  // by claim
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  bool full_ = false;  // some claims wait for room
  Timer answer_;
  WorkQueue<ObjectKey> queue_;
};

// A slice with only what identifies its devices: the agent uses few of the many attributes. A node
// may have thousands of devices, so shared values are stored once.
struct SliceIdentities {
  // The identity of one device of the slice.
  struct Device {
    std::string name, serial, model;
    HardwareIds ids;
    bool operator==(const Device&) const = default;
  };
  std::string driver, pool;
  std::int64_t generation = 0;  // of the pool; the highest one counts
  std::vector<Device> devices;  // by name
  bool operator==(const SliceIdentities&) const = default;
};

// Called on the loop for each change, after the view shows it; also for all of a first list.
class NodeListener {
 public:
  virtual ~NodeListener() = default;
  // `before` is null for a new Pod, `after` for one that is gone. With both, the Pod changed or was
  // replaced by another of its name (compare the uids).
  virtual void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) = 0;
  virtual void OnClaim(const ObjectKey& key) = 0;
  // Slices changed: some devices' serials or models may have changed.
  virtual void OnDevicesChanged() = 0;
  // The watch of Pods works again after a failure; the API server behind it may be another one.
  virtual void OnServerBack() {}
  // Every first list was read; once.
  virtual void OnSynced() = 0;
};

// Pods and slices are asked for by field selector (spec.nodeName); claims have no such field and
// are read by name. The arguments outlive it.
class NodeInformers final : public NodeView {
 public:
  // A watch that was resumed first delivers what it missed, within this time.
  static constexpr Duration kCatchUp = std::chrono::seconds(5);

  NodeInformers(Loop& loop, Log& log, Random& random, kube::Client& client,
                const std::string& node);

  // Once. `listener` outlives the informers' watches.
  void Start(NodeListener& listener);
  // Whether every first list was read, and every claim that it names. Stays true.
  bool synced() const { return synced_; }
  // Since when Pods may have gone unnoticed; nullopt while the watch of Pods is well, and has been
  // for kCatchUp.
  std::optional<WallTime> pods_unseen_since() const { return pods_unseen_since_; }
  // What is wrong right now, by kind; empty when nothing is.
  std::vector<std::string> troubles() const;

  const kube::Pod* FindPod(const ObjectKey& key) const override { return pods_.Find(key); }
  const Claim* FindClaim(const ObjectKey& key) const override { return claims_.Find(key); }
  const Claim* FindClaimFor(const kube::Pod& pod, const ObjectKey& key) const override {
    return claims_.FindFor(pod, key);
  }
  void ForEachPod(const std::function<void(const kube::Pod&)>& visit) const override;
  std::optional<DeviceIdentity> FindIdentity(const DeviceId& id) const override;
  // The devices that this driver offers here, each as the newest slice that lists it says. While a
  // pool's slices change one after another, those that have not yet count as well.
  std::map<DeviceId, HardwareIds> OfferedBy(const std::string& driver) const;

 private:
  template <typename T>
  void Wire(kube::Informer<T>& informer, const std::string& kind);
  void OnTrouble(const std::string& kind, const Status& status);
  void OnWell(const std::string& kind);
  void OnSomeSynced();

  Loop& loop_;
  Log& log_;
  NodeListener* listener_ = nullptr;  // from Start on
  kube::Informer<kube::Pod> pods_;
  kube::Informer<SliceIdentities> slices_;
  NodeClaims claims_;
  std::map<std::string, std::string> troubles_;
  bool synced_ = false;
  std::optional<WallTime> pods_unseen_since_;
  Timer caught_up_;
};

}  // namespace galen::agent
