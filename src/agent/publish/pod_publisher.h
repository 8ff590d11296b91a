// Makes Pods say what their devices are. Marked Pods are looked at through a merging queue: the
// worker compares the Pod as it is with what it should say, and writes only the difference, in one
// patch that fits only that very Pod. A Pod that has ended keeps what it said, as evidence; only a
// worse finding is added to it. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "agent/holdings/cluster_view.h"
#include "agent/publish/change_pacer.h"
#include "agent/publish/pod_status.h"
#include "base/log.h"
#include "base/loop/work_queue.h"
#include "base/metrics.h"
#include "base/repeated_log.h"
#include "base/token_bucket.h"
#include "kube/client.h"

namespace galen::agent {

// An observer writes the annotation and the condition, a manager also allocatedResourcesStatus and,
// for its virtual node, that containers run. Of what the kubelet owns an observer writes nothing:
// it would be overwritten.
class PodPublisher {
 public:
  // What a device does in a storm of changes is held together (change_pacer.h). A Pod whose devices
  // take turns is written this often at most: a burst, then one write each kRefill; the last word
  // is always written.
  static constexpr int kBurst = 20;
  static constexpr Duration kRefill = std::chrono::milliseconds(100);
  // While the server is away all Pods wait together: each flap of a device would be a try
  // otherwise.
  static constexpr BackoffPolicy kOutage{.first = std::chrono::milliseconds(50),
                                         .most = std::chrono::seconds(5)};
  // A server that refuses our patch for good (no permission, a webhook) is asked again later and
  // later: its mind may change, by an operator's hand.
  static constexpr BackoffPolicy kRefusedAgain{.first = std::chrono::seconds(1),
                                               .most = std::chrono::minutes(1)};

  // A server that does not know health of extended resources is asked again: its upgrade need not
  // break our connection.
  static constexpr Duration kExtendedAgain = std::chrono::minutes(10);

  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    kube::Client& client;
    const ClusterView& view;
    const ClaimIndex& index;
  };
  // Callbacks run on the loop, while a Pod is looked at; they must not destroy the publisher.
  struct Options {
    bool manager = false;
    DegradedAs degraded = DegradedAs::kHealthy;
    HealthOf health_of;
    // Manager: whether the Pod's claims are ready, so that its containers run.
    std::function<bool(const kube::Pod& pod)> runs = [](const kube::Pod&) { return false; };
    // Manager that runs containers: what became of them (run_status.h); nullopt: nothing yet.
    std::function<std::optional<Json>(const kube::Pod& pod)> run_of = [](const kube::Pod&) {
      return std::optional<Json>();
    };
    // The Pod now says the device's present health; `after_sign` after the sign.
    std::function<void(const kube::Pod& pod, const DeviceHealth& health, Duration after_sign)>
        on_told = [](const kube::Pod&, const DeviceHealth&, Duration) {};
  };

  PodPublisher(Edges edges, Options options);

  // Nothing is written before this: what is not known yet must not be published as absent. Marks
  // that came before are not kept; whoever opens marks every Pod.
  void Open();
  // The server may take now what it refused, after an upgrade say: one Pod of which something was
  // left out is tried, and the others once it is taken.
  void Retry();
  // Asks for a look. Cheap; merges with one that is asked for already. While everything that a
  // running Pod has to tell is held back, the look waits with it.
  void MarkDirty(const ObjectKey& pod);
  // A change that the Pod is to be told; its delay is measured, and on_told called, when a write or
  // a look shows that it is. A later change of the same device takes its place.
  void Expect(const ObjectKey& pod, const DeviceHealth& health);
  // From here on nothing is held back for calm: the agent stops.
  void Flush();
  // The Pod is gone, or another has its name: what it was to be told is dropped. A write under way
  // ends by itself, and fits only the old one.
  void Forget(const ObjectKey& pod);

  // Whether every Pod says what it should, as far as we know; what waits for its turn or for the
  // server is not idle.
  bool idle() const { return queue_.idle() && later_.empty(); }
  // Patches sent since the start, whatever became of them.
  std::uint64_t writes() const { return writes_; }
  // Which Pod the server refuses, and why; "" when it refuses none.
  std::string trouble() const;

 private:
  using Done = WorkQueue<ObjectKey>::Done;
  using Findings = std::map<DeviceId, DeviceHealth>;
  // A device that changed lately.
  struct Change {
    // What the Pod does not tell yet; apart, for a device that was told is one of thousands.
    std::unique_ptr<DeviceHealth> untold;
    ChangePacer pacer;
  };
  // For Pods that have something to be told, or were written lately.
  struct Record {
    Findings said;  // of a Pod that has ended: what it is to say for good
    std::map<DeviceId, Change> changes;
    TokenBucket writes{kBurst, kRefill};
  };

  struct Refusal {
    std::string why;
    Backoff backoff{kRefusedAgain};
  };

  // One look at one Pod. The queue never runs two for the same Pod.
  void Reconcile(const ObjectKey& key, Done done);
  // A Pod that has ended keeps what it says now.
  void NoteEnding(const ObjectKey& key);
  // How long the Pod is not to be looked at: something of it is untold, and all of that is held.
  Duration HoldOf(const ObjectKey& key) const;
  // Whether its devices are all that it has to tell: what starts, ends, goes or, where a manager
  // runs it, did so of its containers, waits for no storm.
  bool MayWait(const kube::Pod& pod) const;
  // What the Pod is told by the write that is sent now.
  Findings SendChanges(const ObjectKey& key);
  // Manager: whether nothing is to be written, and what is.
  bool SaysItAll(const kube::Pod& pod, const std::optional<WantedPodStatus>& wanted) const;
  std::optional<Json> PatchOf(const Json& object, const kube::Pod& pod);
  // Manager: the server's own version first, because lists are replaced as a whole.
  void ReadThenWrite(const kube::Pod& pod, Done done);
  void WriteOrRest(const kube::Pod& pod, const std::optional<Json>& patch, Done done);
  void Write(const kube::Pod& pod, const Json& patch, Done done);
  void Conclude(const kube::Pod& pod, const Findings& written, const Status& status, Done done);
  // The server does not know entries of extended resources: the Pod is written without.
  void LeaveOutExtended(const kube::Pod& pod, const Status& status, const Done& done);
  // It knows them: the Pods that were written without are looked at.
  void TellLeftOut();
  // What a write was to tell is still to be told, and waits for nothing.
  void NoteUntold(const ObjectKey& key);
  // The write arrived: what it told is measured, handed on and no more untold.
  void NoteTold(const kube::Pod& pod, const Findings& written);
  void Refused(const ObjectKey& key, const std::string& what, const Status& status);
  void NotRefused(const ObjectKey& key);
  std::optional<WantedPodStatus> WantedOf(const kube::Pod& pod);
  // How long the Pod has to wait for its next write; takes the right to one when zero.
  Duration TakeTurn(Record& record);
  void LookLater(const ObjectKey& key, Duration delay);
  // What an answer says of the server, not of the Pod.
  void NoteReply(const Status& status);

  Edges edges_;
  const Options options_;
  bool open_ = false;
  bool stopping_ = false;
  std::uint64_t writes_ = 0;
  Backoff outage_{kOutage};
  // No Pod is written before this; see kOutage.
  Time away_until_{};
  std::map<ObjectKey, Record> records_;
  std::map<ObjectKey, Refusal> refusals_;  // of Pods whose last read or write was refused
  LogOnce refusals_told_;                  // why any of them is
  // The server takes no entry of an extended resource in a container's status, as before 1.37. It
  // is left out then: with it the server would refuse all that is said of the Pod.
  bool leave_out_extended_ = false;
  bool leaving_out_told_ = false;
  std::set<ObjectKey> left_out_;  // Pods that were written without, at most as many as the node has
  Timer ask_again_;
  std::map<ObjectKey, Timer> later_;  // Pods that are looked at again without a new mark
  // One a Pod: the queue sees to it. Kept apart from records: a Pod may go while it is written.
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  WorkQueue<ObjectKey> queue_;
};

}  // namespace galen::agent
