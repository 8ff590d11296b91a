// Keeps the API server's ResourceSlices of this driver on this node as the inventory says: written
// only when they differ, written again at once when somebody wipes them; left-overs are removed.
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
#include "galen/driver.h"
#include "kube/informer.h"
#include "kube/objects/resource_slice.h"
#include "sdk/edges.h"

namespace galen::sdk {

// ---- What to write so that the API server's ResourceSlices match the driver's devices. Pure.

// Kubernetes' limits on the devices of one slice (resource.k8s.io/v1: ResourceSliceMaxDevices; half
// as many once a device has taints).
inline constexpr std::size_t kDevicesPerSliceMax = 128;
inline constexpr std::size_t kDevicesPerSliceMaxWithTaints = 64;

// Identifies the slices of one driver on one node, and the pool that they are published as. All
// slices of a scope are one pool, and the node's alone.
struct SliceScope {
  std::string driver;
  std::string node;
  std::string pool;
};

// A slice as the API server has it, with its last writer: the start time of that instance of the
// driver. If two instances disagree, the one that started later wins.
struct PublishedSlice {
  kube::ResourceSlice slice;
  // Nanoseconds since 1970; 0 when the slice does not have it, which ranks below all others.
  std::int64_t publisher = 0;
  bool operator==(const PublishedSlice&) const = default;
};

// What to write, in three lists that may be carried out in any order.
struct SlicePlan {
  std::vector<kube::ResourceSlice> create;
  std::vector<kube::ResourceSlice> update;  // with the uid and resourceVersion they had
  std::vector<kube::ResourceSlice> remove;
  bool yielded = false;  // a newer instance publishes something else; nothing to do

  bool empty() const { return create.empty() && update.empty() && remove.empty(); }
};

// The part of a written slice that the API server kept, where it did not keep all: fields of
// features that are switched off there are dropped without an error.
struct ReducedSlice {
  kube::ResourceSlice sent;
  kube::ResourceSlice kept;
};

// A field of a device that the API server did not keep, and what to do about it; both texts are for
// people.
struct DroppedField {
  std::string_view field;
  std::string_view advice;
};

// DroppedField::field where the API server keeps no device taints.
inline constexpr std::string_view kTaintsField = "taints";

// The fields of `sent` that the `answer` to its write lacks; empty when nothing is missing, apart
// from times and forms of quantities. Never empty when PlanSlices would write it again.
std::vector<DroppedField> DroppedFields(const kube::ResourceSlice& sent,
                                        const kube::ResourceSlice& answer);

// The slices for the devices of `inventory` that are offered: deterministic names, as few as
// possible; generation 0. `taints_count`: whether the API server keeps taints (Device::Offered).
std::vector<kube::ResourceSlice> SlicesOf(const SliceScope& scope, const Inventory& inventory,
                                          bool taints_count = true);

// `have` are all slices of the driver on the node by name; unwanted ones are removed. `rank` is
// that of the calling instance while several run: slices that differ and were written by one of a
// higher rank are left alone. nullopt: no other instance runs, so every slice is ours.
// `generation_least` is the last generation written, so that a wiped pool does not start at a lower
// one. `reduced`, by name: a slice equal to what the server kept of the wanted one counts as equal,
// or it would be written for ever.
SlicePlan PlanSlices(const std::vector<kube::ResourceSlice>& wanted,
                     const std::map<std::string, PublishedSlice>& have,
                     std::int64_t generation_least, std::optional<std::int64_t> rank,
                     const std::map<std::string, ReducedSlice>& reduced = {});

// One look at a time: what the API server has (by watch) against what is wanted, then all writes at
// once. A kubelet wipes a driver's slices when it starts and 30 s after it lost the driver; the
// watch notices both, and the slices are written again.
class SlicePublisher {
 public:
  // `started` ranks instances, in nanoseconds of the wall clock. A clock that was set back does not
  // matter: an instance that finds slices of a higher rank when it starts ranks itself above them.
  // `another_runs`: whether another instance of this driver runs on the node now, as during a
  // rolling update. Only then a newer one's slices are left alone: a dead process must not hold the
  // pool.
  SlicePublisher(Edges edges, SliceScope scope, std::int64_t started,
                 std::function<bool()> another_runs);
  ~SlicePublisher();

  void Start();
  void SetInventory(const Inventory& inventory);
  // Stops writing; published slices stay.
  void Stop();

  // Everything wanted is published by this instance, as far as the API server keeps it. False while
  // a newer instance publishes something else.
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
  // Sets the wanted slices; returns whether they are new.
  bool WantOffered();
  void WithdrawWhatTaintsDoNotKeepAway();
  void RememberWhatWasKept(const kube::ResourceSlice& sent, const kube::ResourceSlice& kept);
  void OnRemoved(const kube::ResourceSlice& slice, const Status& status);
  void OnShown(const std::string& name, const PublishedSlice& now);
  void OnGone(const std::string& name, const std::string& uid);
  void EraseIf(const std::string& name, const std::string& uid);
  void CountWrite(const std::string& name, const Status& status);
  void FinishRound();
  Json ToObject(const kube::ResourceSlice& slice, const std::string& node_uid) const;
  void LogYielded(bool yielded);
  void LogTrouble(const Status& status);

  const Edges edges_;
  const std::function<bool()> another_runs_;
  const SliceScope scope_;
  std::int64_t publisher_;
  bool ranked_ = false;
  Inventory inventory_;
  // True until an answer shows that the API server drops them.
  bool taints_count_ = true;
  std::vector<kube::ResourceSlice> wanted_;
  std::map<std::string, PublishedSlice> have_;  // by watch, and from the answers to our own writes
  std::set<std::string> ahead_;  // names in have_ with an answer that the watch has not shown yet
  std::set<std::string> gone_;   // UIDs that the watch showed as removed since the look began
  // By name, slices whose last write the API server kept only in part.
  std::map<std::string, ReducedSlice> reduced_;
  std::set<std::string_view> logged_dropped_;  // each field is logged once
  // The highest generation that this process wrote; 0 before the first.
  std::int64_t generation_ = 0;
  bool inventory_known_ = false;
  bool started_ = false;
  bool stopped_ = false;
  bool settled_ = false;
  bool yielded_ = false;
  // The last problem that was logged, so that it is not logged at each try.
  std::string logged_trouble_;
  std::unique_ptr<kube::Informer<PublishedSlice>> informer_;
  WorkQueue<std::string> queue_;
  std::unique_ptr<Round> round_;  // the look under way
  std::vector<std::unique_ptr<net::HttpCall>> calls_;
};

// Decodes a ResourceSlice with its publisher; publisher 0 when our annotation is missing. Errors
// are those of kube::DecodeSlice.
StatusOr<PublishedSlice> DecodePublishedSlice(const Json& object);

}  // namespace galen::sdk
