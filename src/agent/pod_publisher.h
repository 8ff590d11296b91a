// Makes Pods say what their devices are. Marked Pods are looked at through a merging queue: the
// worker compares the Pod as it is with what it should say, and writes only the difference, in one
// patch that fits only that very Pod. A Pod that has ended keeps what it said, as evidence; only a
// worse finding is added to it. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/claim_index.h"
#include "agent/cluster_view.h"
#include "agent/pod_status.h"
#include "agent/told_once.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/work_queue.h"
#include "kube/client.h"

namespace galen::agent {

// An observer writes the annotation and the condition, a manager also allocatedResourcesStatus and,
// for its virtual node, that containers run. Of what the kubelet owns an observer writes nothing:
// it would be overwritten.
class PodPublisher {
 public:
  // A Pod whose device flaps is written this often at most: a burst, then one write each kRefill;
  // the last word is always written.
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
    // The Pod now says the device's present health; `after_sign` after the sign.
    std::function<void(const kube::Pod& pod, const DeviceHealth& health, Duration after_sign)>
        on_told = [](const kube::Pod&, const DeviceHealth&, Duration) {};
  };

  PodPublisher(Edges edges, Options options);

  // Nothing is written before this: what is not known yet must not be published as absent. Marks
  // that came before are not kept; whoever opens marks every Pod.
  void Open();
  // Asks for a look. Cheap; merges with one that is asked for already.
  void MarkDirty(const ObjectKey& pod);
  // A change that the Pod is to be told; its delay is measured, and on_told called, when a write or
  // a look shows that it is. A later change of the same device takes its place.
  void Expect(const ObjectKey& pod, const DeviceHealth& health);
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
  // For Pods that have something to be told, or were written lately.
  struct Record {
    Findings said;      // as of the last look, of a Pod that has ended: what it is to say for good
    Findings expected;  // changes that the Pod does not tell yet
    double turns = kBurst;
    Time refilled{};
  };

  struct Refusal {
    std::string why;
    Backoff backoff{kRefusedAgain};
  };

  // One look at one Pod. The queue never runs two for the same Pod.
  void Reconcile(const ObjectKey& key, Done done);
  // Manager: the server's own version first, because lists are replaced as a whole.
  void ReadThenWrite(const kube::Pod& pod, Done done);
  void WriteOrRest(const kube::Pod& pod, const std::optional<Json>& patch, Done done);
  void Write(const kube::Pod& pod, const Json& patch, Done done);
  void Conclude(const kube::Pod& pod, const Findings& written, const Status& status, Done done);
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
  std::uint64_t writes_ = 0;
  Backoff outage_{kOutage};
  // No Pod is written before this; see kOutage.
  Time away_until_{};
  std::map<ObjectKey, Record> records_;
  std::map<ObjectKey, Refusal> refusals_;  // of Pods whose last read or write was refused
  ToldOnce refusals_told_;                 // why any of them is
  std::map<ObjectKey, Timer> later_;       // Pods that are looked at again without a new mark
  // One a Pod: the queue sees to it. Kept apart from records: a Pod may go while it is written.
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  WorkQueue<ObjectKey> queue_;
};

}  // namespace galen::agent
