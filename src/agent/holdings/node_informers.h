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

// The claims that the Pods of this node name, each read by its name: as the kubelet does it, and
// unlike a watch, which would bring every claim of the cluster to every node (record 11).
// A claim that is not made, not allocated or not yet a Pod's is asked for again with backoff; one
// that every Pod has got is left alone, for an allocation stays as long as a Pod holds it. A Pod
// that is new has it read again: a claim of a group may have been freed and allocated anew.
class NodeClaims {
 public:
  // Claims past this wait until there is room, which is logged: no node holds as many.
  static constexpr std::size_t kClaimsMax = kNodeClaimsMax;
  // A claim is mostly there before its Pod comes to a node; what is not may take its time.
  static constexpr BackoffPolicy kBackoff{.first = std::chrono::milliseconds(100),
                                          .most = std::chrono::seconds(30)};

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
  // What it says of that Pod; nullptr until it has been read since the Pod is there.
  const Claim* FindFor(const kube::Pod& pod, const ObjectKey& key) const;
  // Whether the server has said something of every claim that is named.
  bool settled() const { return unanswered_.empty(); }
  // What hinders; "" when nothing does.
  std::string trouble() const;

 private:
  using Done = WorkQueue<ObjectKey>::Done;
  struct Holder {
    std::string uid, group;
    bool ended = false;
    std::set<ObjectKey> claims;
    std::set<ObjectKey> unread;  // of these: known or asked for already when the Pod came
  };

  void Want(const ObjectKey& claim, const ObjectKey& pod);
  // Takes in what waited for room, as far as there is some now.
  void WantWaiting();
  void Unwant(const ObjectKey& claim, const ObjectKey& pod);
  // Whether another answer could say more.
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
  std::set<ObjectKey> outdated_;               // read before a Pod that names them was there
  std::map<ObjectKey, std::string> troubles_;  // by claim
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  bool full_ = false;  // some claims wait for room
  Timer answer_;
  WorkQueue<ObjectKey> queue_;
};

// A slice with only what identifies its devices: attributes are many and few of ours. A node may
// have thousands, so what they share stands once.
struct SliceIdentities {
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
  // One of the two may be null: new, or gone. Both: changed, or replaced by another of its name
  // (compare the uids).
  virtual void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) = 0;
  virtual void OnClaim(const ObjectKey& key) = 0;
  // Slices changed: serials or models of some devices may be others now.
  virtual void OnDevicesChanged() = 0;
  // The watch of Pods stands again after it was in trouble: it may be another API server by now.
  virtual void OnServerBack() {}
  // Every first list is known; once.
  virtual void OnSynced() = 0;
};

// Pods and slices are asked for by field selector (spec.nodeName); claims have no such field and
// are read by name. What is lent outlives it.
class NodeInformers final : public NodeView {
 public:
  // A watch that is taken up again shows what it missed first, which takes no longer than this.
  static constexpr Duration kCatchUp = std::chrono::seconds(5);

  NodeInformers(Loop& loop, Log& log, Random& random, kube::Client& client,
                const std::string& node);

  // Once. `listener` outlives the informers' watches.
  void Start(NodeListener& listener);
  // Whether every first list is known, and every claim that is named in it. Stays so.
  bool synced() const { return synced_; }
  // From this time on Pods may have gone without our hearing of it in time; nullopt while the watch
  // of Pods is well, and has been for kCatchUp.
  std::optional<WallTime> pods_unseen_since() const { return pods_unseen_since_; }
  // What hinders right now, by kind; empty when nothing does.
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
