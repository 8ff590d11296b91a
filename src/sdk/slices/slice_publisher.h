// Keeps the API server's ResourceSlices of this driver on this node as the inventory says: written
// only when they differ, brought back at once when somebody wipes them, left-overs removed.
// Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop/work_queue.h"
#include "kube/informer.h"
#include "sdk/edges.h"
#include "sdk/slices/slice_plan.h"

namespace galen::sdk {

// One look at a time: what the API server has (by watch) against what is wanted, then all writes at
// once. A kubelet wipes a driver's slices when it starts and 30 s after it lost the driver; both
// are noticed by the watch and mended.
class SlicePublisher {
 public:
  // `started` ranks instances, in nanoseconds of the wall clock. A clock that was set back does not
  // matter: who finds slices of a higher rank when it starts ranks above them. `another_runs`:
  // whether another instance of this driver runs on the node now, as during a rolling update. Only
  // then a newer one's slices are left alone: a dead process must not hold the pool.
  SlicePublisher(Edges edges, SliceScope scope, std::int64_t started,
                 std::function<bool()> another_runs);
  ~SlicePublisher();

  void Start();
  void SetInventory(const Inventory& inventory);
  // Nothing is written any more; what is published stays.
  void Stop();

  // Everything wanted is published by us, as far as the API server keeps it. False while a newer
  // instance publishes something else.
  bool settled() const { return settled_; }

 private:
  using Done = WorkQueue<std::string>::Done;
  struct Round;

  void Reconcile(Done done);
  void RankOnce();
  void AskForNode();
  void Carry(const std::string& node_uid);
  void Write(net::HttpRequest request, const kube::ResourceSlice& sent);
  void OnWritten(const kube::ResourceSlice& sent, const StatusOr<Json>& answer);
  void RememberWhatWasKept(const kube::ResourceSlice& sent, const kube::ResourceSlice& kept);
  void OnRemoved(const std::string& name, const Status& status);
  void CountWrite(const std::string& name, const Status& status);
  void FinishRound();
  Json ToObject(const kube::ResourceSlice& slice, const std::string& node_uid) const;
  void TellYielded(bool yielded);
  void TellTrouble(const Status& status);

  const Edges edges_;
  const std::function<bool()> another_runs_;
  const SliceScope scope_;
  std::int64_t publisher_;
  bool ranked_ = false;
  std::vector<kube::ResourceSlice> wanted_;
  std::map<std::string, PublishedSlice> have_;  // by watch, and from the answers to our own writes
  // By name, those of which the API server dropped fields at the last write.
  std::map<std::string, ReducedSlice> reduced_;
  std::set<std::string_view> told_dropped_;  // each field is reported once
  // The highest that was written by this process; 0 before the first.
  std::int64_t generation_ = 0;
  bool inventory_known_ = false;
  bool started_ = false;
  bool stopped_ = false;
  bool settled_ = false;
  bool yielded_ = false;
  // The last trouble in the log, so that it is not logged at each try.
  std::string told_trouble_;
  std::unique_ptr<kube::Informer<PublishedSlice>> informer_;
  WorkQueue<std::string> queue_;
  std::unique_ptr<Round> round_;  // the look that is under way
  std::vector<std::unique_ptr<net::HttpCall>> calls_;
};

// A ResourceSlice object with who published it; publisher 0 when our annotation is not there.
// Errors are those of kube::DecodeSlice.
StatusOr<PublishedSlice> DecodePublishedSlice(const Json& object);

}  // namespace galen::sdk
