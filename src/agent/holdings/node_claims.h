// The claims that the Pods of this node name, each read by its name: as the kubelet does it, and
// unlike a watch, which would bring every claim of the cluster to every node (record 11).
// A claim that is not made, not allocated or not yet a Pod's is asked for again with backoff; one
// that every Pod has got is left alone, for an allocation stays as long as a Pod holds it.
// Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/holdings/claim_index.h"
#include "base/log.h"
#include "base/loop/work_queue.h"
#include "kube/client.h"

namespace galen::agent {

class NodeClaims {
 public:
  // Claims past this wait until there is room, which is logged: no node holds as many.
  static constexpr std::size_t kClaimsMax = 4096;
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
  std::map<ObjectKey, std::string> troubles_;  // by claim
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  bool full_ = false;  // some claims wait for room
  Timer answer_;
  WorkQueue<ObjectKey> queue_;
};

}  // namespace galen::agent
