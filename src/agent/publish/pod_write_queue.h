// When which Pod is looked at and written: marked Pods through a merging queue, not too often each,
// later and later where the server refuses, and all together where it is away. Knows no Pod's
// content. Belongs to the agent's loop.
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
  // A Pod whose devices take turns is written this often at most: a burst, then one write each
  // kRefill; the newest state is always written.
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
  };
  using Done = WorkQueue<ObjectKey>::Done;
  // One look at one Pod; never two at a time for the same. What `done` gets as a failure is looked
  // at again, later and later.
  using Look = std::function<void(const ObjectKey& pod, Done done)>;

  PodWriteQueue(Edges edges, Look look);

  // Asks for a look; merges with one that is asked for already.
  void MarkDirty(const ObjectKey& pod) { queue_.MarkDirty(pod); }
  void MarkLater(const ObjectKey& pod, Duration delay);
  // What MarkLater put off is looked at now.
  void Flush();
  // The Pod is gone.
  void Forget(const ObjectKey& pod);

  // How long no Pod is to be read or written, because the server is away.
  Duration away() const;
  // What an answer says of the server, not of the Pod.
  void NoteReply(const Status& status);
  // How long the Pod has to wait for its next write; takes the right to one when zero.
  Duration TakeTurn(const ObjectKey& pod);
  // The server refused a read or write of the Pod for good: logged as `what`, once for each reason,
  // and tried again later.
  void Refused(const ObjectKey& pod, const std::string& what, const Status& status);
  // It did not, or there is nothing to write any more.
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
  LogOnce refusals_logged_;                 // why any of them is
  std::map<ObjectKey, Timer> later_;
  WorkQueue<ObjectKey> queue_;
};

}  // namespace galen::agent
