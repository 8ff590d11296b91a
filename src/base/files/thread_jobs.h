// A queue of work between a loop and a thread beside it: the part that DiskThread and DetachedQueue
// have in common. Used by the loop's thread and by the one that calls Work.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>

#include "base/loop/loop.h"
#include "base/mutex.h"

namespace galen {

class ThreadJobs {
 public:
  // The loop outlives this, or Abandon is called before it goes.
  explicit ThreadJobs(Loop& loop) : loop_(&loop) {}
  ThreadJobs(const ThreadJobs&) = delete;

  // `work` is for the thread, `done` for the loop, after it.
  void Give(Task work, Task done);
  // Whether all work that was given is done.
  bool idle() const;
  // Work returns once all that was given is done.
  void Finish() { Give({}, {}); }
  // Work returns after what it is doing. Nothing is posted any more.
  void Abandon();

  // Does what is given, in order, until the end.
  void Work();

 private:
  struct Job {
    Task work, done;  // both empty: the end
  };

  mutable Mutex mu_;                  // a loop would not do: the thread sleeps until there is work
  Loop* loop_ GALEN_GUARDED_BY(mu_);  // null: nobody waits any more
  std::deque<Job> jobs_ GALEN_GUARDED_BY(mu_);
  std::size_t undone_ GALEN_GUARDED_BY(mu_) = 0;
  // Work was given, or nobody waits any more. Not a semaphore: libstdc++'s yields the processor
  // again and again before it sleeps, which for a thread that has one thing to do each few seconds
  // is most of what it costs.
  std::condition_variable_any given_;
};

}  // namespace galen
