// Keys that are to be processed. Equal keys merge, a key is never processed twice at the same time,
// a failure is repeated with backoff. Never carries what happened: the worker reads the present, so
// that restart, retry, overload and resync are the same code. Bounded by the number of keys there
// are. Belongs to its loop; loop and random outlive it. It may be destroyed while keys are
// processed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/liveness.h"
#include "base/loop/backoff.h"
#include "base/loop/loop.h"

namespace galen {

// `Key` is a value with an order; it is copied.
template <typename Key>
class WorkQueue {
 public:
  // Reports the result of processing a key. Call it exactly once, now or later, from the loop: a
  // second call ends the process, and without a call the key is never processed again. After the
  // queue is gone it does nothing. OK or a failure that trying again cannot help (IsRetryable): the
  // key rests, and its backoff starts over. A retryable one: again later. Who wants it logged or
  // counted does it in the worker.
  using Done = std::function<void(const Status&)>;
  // Looks at `key` and makes the world match. Runs on the loop, never from inside MarkDirty. May
  // call `done` before it returns, and may mark keys, this one too.
  using Worker = std::function<void(const Key& key, Done done)>;

  // How fast failures are repeated, and how much runs at one time.
  struct Options {
    // Each key has its own backoff.
    BackoffPolicy backoff;
    // Looks under way at one time; further keys wait in the order in which they were marked. Enough
    // to hide the API server's latency, few enough to be polite to it.
    std::size_t at_once_max = 16;
  };

  WorkQueue(Loop& loop, Random& random, Options options, Worker worker)
      : loop_(loop), random_(random), options_(options), worker_(std::move(worker)) {}
  WorkQueue(const WorkQueue&) = delete;

  // Asks for a look at `key`, soon, never from inside this call. Cheap and never refused. While the
  // key is looked at: once more afterwards. After a failure: the delay runs out first, so that new
  // marks do not turn into a storm.
  void MarkDirty(const Key& key);
  // Asks for a look at `when`, unless one starts earlier: that one will ask again if it must. Of
  // several times the earliest counts. Time::max() asks for nothing.
  void MarkDirtyAt(const Key& key, Time when);
  // Keys that wait or are being looked at.
  std::size_t depth() const { return entries_.size(); }
  // Nothing waits, not even for a later time.
  bool idle() const { return entries_.empty(); }

 private:
  struct Entry {
    explicit Entry(BackoffPolicy policy) : backoff(policy) {}
    enum { kWaiting, kReady, kRunning } state = kWaiting;
    // When the next look is due; of a running one, when to look again afterwards.
    Time due = Time::max();
    Timer timer;
    Backoff backoff;
  };

  void Schedule(const Key& key, Entry& entry, Time when);
  void BecomeReady(const Key& key);
  void StartReady();
  void Finish(const Key& key, const Status& status);

  Loop& loop_;
  Random& random_;
  const Options options_;
  const Worker worker_;
  std::map<Key, Entry> entries_;
  std::deque<Key> ready_;  // first marked, first looked at
  std::size_t running_ = 0;
  // Dies with the queue, so that a late Done does nothing.
  Liveness liveness_;
};

template <typename Key>
void WorkQueue<Key>::MarkDirty(const Key& key) {
  MarkDirtyAt(key, loop_.Now());
}

template <typename Key>
void WorkQueue<Key>::MarkDirtyAt(const Key& key, Time when) {
  if (when == Time::max()) return;
  Entry& entry = entries_.try_emplace(key, options_.backoff).first->second;
  if (entry.state == Entry::kReady || entry.due <= when) return;
  if (entry.state == Entry::kRunning) {
    entry.due = when;
    return;
  }
  // A key that failed lately waits out its delay: new marks must not turn into a storm.
  if (entry.backoff.failures() > 0) return;
  Schedule(key, entry, when);
}

template <typename Key>
void WorkQueue<Key>::Schedule(const Key& key, Entry& entry, Time when) {
  entry.state = Entry::kWaiting;
  entry.due = when;
  entry.timer = loop_.At(when, [this, key] { BecomeReady(key); });
}

template <typename Key>
void WorkQueue<Key>::BecomeReady(const Key& key) {
  entries_.at(key).state = Entry::kReady;
  ready_.push_back(key);
  StartReady();
}

template <typename Key>
void WorkQueue<Key>::StartReady() {
  while (!ready_.empty() && running_ < options_.at_once_max) {
    const Key key = std::move(ready_.front());
    ready_.pop_front();
    Entry& entry = entries_.at(key);
    entry.state = Entry::kRunning;
    // From here on `due` is only what is asked for while the look is under way.
    entry.due = Time::max();
    ++running_;
    // Posted, so that a worker may answer before it returns.
    worker_(key, [this, &loop = loop_, watch = Liveness::Watch(liveness_), key](const Status& s) {
      loop.Post([this, watch, key, s] {
        if (watch.alive()) Finish(key, s);
      });
    });
  }
}

template <typename Key>
void WorkQueue<Key>::Finish(const Key& key, const Status& status) {
  const auto found = entries_.find(key);
  GALEN_CHECK(found != entries_.end() && found->second.state == Entry::kRunning);
  --running_;
  Entry& entry = found->second;
  // Whatever was asked for meanwhile waits with it: the next look sees the present anyway.
  if (IsRetryable(status)) {
    Schedule(key, entry, loop_.Now() + entry.backoff.Next(random_));
  } else if (entry.due != Time::max()) {
    entry.backoff.Reset();
    Schedule(key, entry, entry.due);
  } else {
    // Nothing is kept of a key at rest, so the queue is as large as the trouble there is.
    entries_.erase(found);
  }
  StartReady();
}

}  // namespace galen
