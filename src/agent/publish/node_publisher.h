// Keeps the NodeDeviceHealth object named like the node equal to what is known, by server-side
// apply, and writes nothing while nothing changes. It watches that one object, so that it is
// repaired at once when somebody removes or changes it. A cluster without the kind is asked again
// slowly. The object belongs to its Node, so that it is collected when the Node goes. Belongs to
// the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/api_edges.h"
#include "agent/drivers/plugin_manager.h"
#include "agent/health/health_cache.h"
#include "agent/holdings/claim_index.h"
#include "agent/publish/pod_status.h"
#include "base/loop/work_queue.h"
#include "history/post_mortem/post_mortem.h"
#include "kube/objects/meta.h"
#include "kube/objects/node_device_health.h"
#include "kube/watcher.h"

namespace galen::agent {

// What the object is made of (node_health.cc). Borrowed parts (claims, post_mortems) live until
// NodeHealthOf returns.
struct NodeHealthInput {
  std::string node;
  std::string version;
  // "observer" or "manager".
  std::string role;
  WallTime started{};
  bool synced = false;   // the API's lists are known
  bool stopped = false;  // this is the agent's last write
  DegradedAs degraded = DegradedAs::kHealthy;
  std::vector<DeviceHealth> devices;
  // Asked for each of `devices`, which include those that nobody reported but some Pod holds.
  std::function<EffectiveTimeout(const DeviceId& id)> timeout_of;
  std::function<DeviceIdentity(const DeviceId& id)> identity_of;
  const ClaimIndex* claims = nullptr;
  std::vector<DriverInfo> drivers;
  // The health sources, which only report the health of another driver's devices.
  std::vector<DriverInfo> health_sources{};
  // Records in which a device had a fault, newest first; null for none.
  const std::vector<history::PostMortem>* post_mortems = nullptr;
};

// Every device of the node, for whoever looks at the cluster. Pure; holds no running times, so that
// equal states give equal objects. Worst first, as far as the object's bounds allow; the summary
// counts all. `before` is what was published last: conditions keep their times.
kube::NodeDeviceHealth NodeHealthOf(const NodeHealthInput& input,
                                    const std::vector<kube::Condition>& before, WallTime now);

// The object is cluster-scoped and the agent's alone: applied with force, under one field manager.
class NodePublisher final : private kube::WatchSink {
 public:
  // Changes are gathered this long, so that a report on hundreds of devices is one write: Pods show
  // a change at once, this object is an overview. While changes come without a pause, twice as long
  // each time, up to the most: the object is large, and every watcher gets all of it.
  static constexpr Duration kGather = std::chrono::milliseconds(250);
  static constexpr Duration kGatherMost = std::chrono::seconds(5);
  // The API server forbids the write: only an operator can grant the right, perhaps right now,
  // perhaps never.
  static constexpr BackoffPolicy kRefusedAgain{.first = std::chrono::seconds(5),
                                               .most = std::chrono::minutes(5)};
  // The cluster has no NodeDeviceHealth yet: whoever applies the definition expects the object
  // soon after. A try is one list request, which the server answers from memory, and no write.
  static constexpr BackoffPolicy kMissingAgain{.first = std::chrono::seconds(5),
                                               .most = std::chrono::minutes(1)};
  // The Node is missing: a manager may still be registering it. Each try is two reads, no write.
  static constexpr BackoffPolicy kNodelessAgain{.first = std::chrono::milliseconds(100),
                                                .most = std::chrono::minutes(1)};

  using Edges = ApiEdges;
  // The object as it should be, given the conditions it shows now.
  using Build = std::function<kube::NodeDeviceHealth(const std::vector<kube::Condition>& before)>;

  // `build` is called on the loop whenever the object may have to be written; it must give equal
  // objects for equal states, or each look would write.
  NodePublisher(Edges edges, std::string node, Build build);

  // What the object shows may have changed. Cheap; several marks make one look.
  void MarkDirty();
  // Writes the last state without waiting for more changes: the agent stops, and later changes are
  // left out.
  void Flush();
  // A refused write may be allowed now: it is tried at once.
  void Retry();
  // Whether the object says what it should, or cannot be written for now.
  bool idle() const { return !gather_pending_ && queue_.idle(); }
  // Requests that change something, whatever their answer.
  std::uint64_t writes() const { return writes_; }
  // What is wrong, as a sentence; "" when nothing is.
  const std::string& trouble() const { return trouble_.empty() ? owner_trouble_ : trouble_; }

 private:
  // The steps to a correct object: check whether a missing kind is back; read the object; read its
  // Node; create the object if it is missing; set its Node as owner; apply its status.
  enum class Step { kFindKind, kRead, kReadNode, kCreate, kOwn, kApply };
  using Done = WorkQueue<std::string>::Done;

  void OnInit() override { listed_ = false; }
  void OnInitItem(const Json& object) override { OnApplied(object); }
  void OnInitDone() override;
  void OnApplied(const Json& object) override;
  void OnDeleted(const Json& object) override;
  // Not logged here: what hinders the watch hinders the writes too, and is logged there. Without a
  // watch the object is still written at each change.
  void OnTrouble(const Status&) override {}
  // Somebody else changed the object to this version, or removed it ("").
  void LookAfresh(const std::string& version);
  void Look(Step step, Done done);
  void OnKind(const StatusOr<Json>& reply, Done done);
  // Sets how long the next marks are gathered.
  void PlanNext();

  void Reconcile(Done done);
  void Ask(Step step, net::HttpRequest request, Done done);
  void OnAnswer(Step step, const StatusOr<Json>& reply, Done done);
  void OnRead(const StatusOr<Json>& reply, Done done);
  void OnNode(const StatusOr<Json>& reply, Done done);
  void NoteWritten();
  void Create(Done done);
  void Own(Done done);
  void OnOwnerRefused(const Status& status, Done done);
  void NoteOwner(const Status& status);
  void Apply(Done done);
  void Refused(const Status& status, Done done);
  void Postpone(const std::string& why, Backoff& backoff, Done done);

  Edges edges_;
  const std::string node_;
  const Build build_;
  // What the server shows; nullopt: not asked yet.
  std::optional<kube::NodeDeviceHealth> shown_;
  // The object of the write under way; becomes shown_ when the server has accepted it.
  std::optional<kube::NodeDeviceHealth> sent_;
  bool shown_is_ours_ = false;  // written by this agent, not read from an earlier one
  // The owners at the last look; nullopt: there is no object.
  std::optional<std::vector<kube::OwnerReference>> owners_;
  // The Node; empty where it may not be read, is gone, or is refused as owner.
  std::vector<kube::OwnerReference> wanted_owners_;
  std::string owner_trouble_;  // why the object does not belong to its Node
  std::string version_;        // of the object as our last write left it
  std::string trouble_;
  std::uint64_t writes_ = 0;
  std::unique_ptr<net::HttpCall> call_;
  bool gather_pending_ = false;
  bool flushed_ = false;
  Time marked_{};                  // the last mark
  Duration gather_for_ = kGather;  // for the next marks
  Time calm_from_{};               // a mark after this begins a new gathering
  Backoff refusals_{kRefusedAgain};
  Backoff absences_{kMissingAgain};
  Backoff nodeless_{kNodelessAgain};
  bool kind_missing_ = false;  // as of the last answer
  Time refused_until_{};
  bool watching_ = false;
  bool stale_ = false;                         // shown_ must be read again
  std::optional<std::string> seen_meanwhile_;  // the version that the watch showed during a look
  bool listed_ = false;                        // the object was in the list that is being read
  Timer gather_, again_;
  WorkQueue<std::string> queue_;  // of one key, for its merging and its backoff
  kube::Watcher watcher_;
};

}  // namespace galen::agent
