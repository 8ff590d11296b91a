// Decides when each Pod is looked at and written: marked Pods go through a merging queue, each not
// too often, with growing delays where the server refuses, and all together where it is away. Knows
// nothing of the Pods' content. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/log.h"
#include "base/loop/work_queue.h"
#include "base/repeated_log.h"
#include "base/token_bucket.h"
#include "model/claim.h"

namespace galen::agent {

class PodWriteQueue {
 public:
  // How often a Pod whose devices change in turn is written at most: a burst, then one write each
  // kRefill; the newest state is always written.
  static constexpr int kBurst = 20;
  static constexpr Duration kRefill = std::chrono::milliseconds(100);
  // While the server is away all Pods wait together: otherwise each flap of a device would be a
  // try.
  static constexpr BackoffPolicy kOutage{.first = std::chrono::milliseconds(50),
                                         .most = std::chrono::seconds(5)};
  // A server that refuses our patch (no permission, a webhook) is tried again with growing delays:
  // an operator may change that.
  static constexpr BackoffPolicy kRefusedAgain{.first = std::chrono::seconds(1),
                                               .most = std::chrono::minutes(1)};

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
  };
  using Done = WorkQueue<ObjectKey>::Done;
  // One look at one Pod; never two at a time for the same. If `done` gets an error, the Pod is
  // looked at again, with growing delays.
  using Look = std::function<void(const ObjectKey& pod, Done done)>;

  PodWriteQueue(Edges edges, Look look);

  // Has the Pod looked at; merges with a mark that is already there.
  void MarkDirty(const ObjectKey& pod) { queue_.MarkDirty(pod); }
  void MarkLater(const ObjectKey& pod, Duration delay);
  // Pods that MarkLater put off are looked at now.
  void Flush();
  // The Pod is gone: its entries are dropped.
  void Forget(const ObjectKey& pod);

  // How long no Pod is to be read or written because the server is away.
  Duration away() const;
  // Takes from an answer whether the server is there.
  void NoteReply(const Status& status);
  // How long the Pod has to wait for its next write; zero, and the write counts, if it may be
  // written now.
  Duration TakeTurn(const ObjectKey& pod);
  // The server refused a read or write of the Pod for good: logged as `what`, once for each reason,
  // and tried again later.
  void Refused(const ObjectKey& pod, const std::string& what, const Status& status);
  // The server accepted it, or there is nothing to write any more.
  void NotRefused(const ObjectKey& pod);

  // Whether no look is due, waiting or under way.
  bool idle() const { return queue_.idle() && later_.empty(); }
  // Which Pod the server refuses, and why; "" when it refuses none.
  std::string trouble() const;

 private:
  struct Refusal {
    std::string why;
    Backoff backoff{kRefusedAgain};
  };

  Edges edges_;
  Backoff outage_{kOutage};
  Time away_until_{};
  std::map<ObjectKey, TokenBucket> turns_;  // of Pods that were written
  std::map<ObjectKey, Refusal> refusals_;   // of Pods whose last read or write was refused
  LogOnce refusals_logged_;                 // reasons that were logged
  std::map<ObjectKey, Timer> later_;
  WorkQueue<ObjectKey> queue_;
};

}  // namespace galen::agent
