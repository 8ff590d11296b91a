// Asks drivers to prepare a Pod's claims, and to unprepare them when the last Pod that uses them is
// gone. Manager role only: elsewhere the kubelet does this. Belongs to the agent's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/drivers/driver_caller.h"
#include "agent/holdings/node_view.h"
#include "agent/manager/claim_checkpoint.h"
#include "base/liveness.h"
#include "base/loop/loop.h"

namespace galen::agent {

// The manager's side of NodePrepareResources, as the kubelet's DRA manager: the checkpoint is
// written first, then the drivers are called, once each for all of a Pod's claims. Never retries by
// itself; PodRunner's queue does. The arguments outlive it.
class ClaimCaller {
 public:
  using Done = std::function<void(const Status&)>;

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    DriverCaller& drivers;
    const NodeView& view;
    ClaimCheckpoint& claims;
  };

  explicit ClaimCaller(Edges edges) : edges_(edges) {}

  // Whether every claim of the Pod is made, allocated to it, and prepared by this process: after a
  // restart drivers are asked again, since they may have lost their work. True for a Pod without
  // claims.
  bool IsReady(const kube::Pod& pod) const;
  // Whether there is nothing to prepare yet: a claim does not exist, is not allocated, or is
  // reserved for another Pod.
  bool IsWaiting(const kube::Pod& pod) const;

  // Asks every driver of the Pod's claims that are not ready yet. Ends with one call of `done`, at
  // once or later: OK when IsReady would say so; Unavailable when a driver is away or refused;
  // Aborted, and nothing is wrong, when a claim is being prepared or unprepared for another Pod, or
  // its former Pod has not let go of it: ask again when that is done; ResourceExhausted at
  // ClaimCheckpoint::kClaimsMax; or the checkpoint's error. After an error the claims stay recorded
  // until Unprepare. A claim that was freed and allocated anew under its UID is unprepared first.
  // REQUIRES: !IsWaiting(pod).
  void Prepare(const kube::Pod& pod, Done done);
  // For a Pod that is gone or has ended. Needs no claim object; OK for an unknown Pod. A claim that
  // other Pods use as well stays prepared.
  void Unprepare(const std::string& pod_uid, Done done);

  // Uids of the Pods that hold prepared claims by the checkpoint, including Pods that are gone.
  std::set<std::string> PodsInCheckpoint() const;

 private:
  using Batches = std::map<std::string, std::vector<std::string>>;  // driver → claims' uids
  // One round of calls to some drivers, for one Pod. The calls end in any order.
  struct Round {
    NodeCall call;
    Batches batches;
    std::size_t open;  // calls that have not been answered
    Status first_error;
    std::function<void(const Status&)> done;
  };

  // Records the Pod and the drivers in memory; returns the calls to make.
  StatusOr<Batches> Reserve(const kube::Pod& pod);
  // Writes the checkpoint, then goes on; not after this was destroyed.
  void Save(Done next);
  // Calls each driver once, all at the same time; `done` when the last has answered, with the first
  // error.
  void Ask(NodeCall call, Batches batches, std::function<void(const Status&)> done);
  void OnAnswer(std::uint64_t round, const std::string& driver, const StatusOr<std::string>& reply);
  // Takes a driver's whole answer, or the reason why there is none; changes `claims`.
  Status TakeIn(NodeCall call, const std::string& driver, const std::vector<std::string>& uids,
                const StatusOr<std::string>& reply);
  Status TakePrepared(const std::string& driver, const std::vector<std::string>& uids,
                      const std::string& reply);
  Status TakeUnprepared(const std::string& driver, const std::vector<std::string>& uids,
                        const std::string& reply);
  std::string RequestOf(NodeCall call, const std::vector<std::string>& uids);
  // UIDs of the Pod's claims that are prepared for a former allocation. Aborted while Pods of that
  // allocation still hold them.
  StatusOr<std::set<std::string>> StaleClaims(const kube::Pod& pod) const;
  // Unprepares them, then goes on with Prepare.
  void UnprepareStale(const PodRef& pod, const std::set<std::string>& uids, const Done& done);
  // Lets go of the claims that only this Pod uses. REQUIRES: there are some.
  void UnprepareLast(const std::set<std::string>& uids, const Done& done);
  // A claim is worked on for one Pod at a time, from before it is recorded on disk until the
  // outcome is: otherwise a prepare could overtake an unprepare.
  bool AnyBusy(const std::set<std::string>& uids) const;
  void Hold(const std::set<std::string>& uids) { busy_.insert(uids.begin(), uids.end()); }
  void LetGo(const std::set<std::string>& uids);
  // Every driver that was or may have been asked about them.
  Batches DriversOf(const std::set<std::string>& uids);

  Edges edges_;
  std::map<std::uint64_t, Round> rounds_;  // under way, by number
  std::uint64_t next_round_ = 0;
  std::set<std::string> ready_;  // uids of claims prepared since this process started
  std::set<std::string> busy_;   // uids of claims that are worked on
  std::set<std::string> noted_;  // uids of Pods that the records on disk name for all their claims
  // Dies with this, so that an answer that comes later finds nobody.
  Liveness liveness_;
};

}  // namespace galen::agent
