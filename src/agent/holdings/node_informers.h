// The part of the cluster that concerns one node: its Pods and the slices of its drivers, kept by
// watching, and the claims that its Pods name. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/holdings/node_claims.h"
#include "agent/holdings/node_view.h"
#include "base/log.h"
#include "kube/informer.h"
#include "kube/objects/resource_slice.h"

namespace galen::agent {

// A slice with only what identifies its devices: attributes are many and none of ours. A node may
// have thousands, so what they share stands once.
struct SliceIdentities {
  struct Device {
    std::string name, serial, model;
    bool operator==(const Device&) const = default;
  };
  std::string driver, pool;
  std::vector<Device> devices;
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
  void ForEachPod(const std::function<void(const kube::Pod&)>& visit) const override;
  std::optional<DeviceIdentity> FindIdentity(const DeviceId& id) const override;

 private:
  template <typename T>
  void Wire(kube::Informer<T>& informer, const std::string& kind);
  void OnTrouble(const std::string& kind, const Status& status);
  void OnWell(const std::string& kind);
  void OnSomeSynced();
  void IndexIdentities(const SliceIdentities* before, const SliceIdentities* after);

  Loop& loop_;
  Log& log_;
  NodeListener* listener_ = nullptr;  // from Start on
  kube::Informer<kube::Pod> pods_;
  kube::Informer<SliceIdentities> slices_;
  NodeClaims claims_;
  struct Facts {
    std::string serial, model;
  };
  std::map<DeviceId, Facts> identities_;
  std::map<std::string, std::string> troubles_;
  bool synced_ = false;
  std::optional<WallTime> pods_unseen_since_;
  Timer caught_up_;
};

}  // namespace galen::agent
