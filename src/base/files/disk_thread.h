// A thread for a disk: a write that hangs for minutes, as on a frozen or failing file system, hangs
// here and nowhere else.
#pragma once

#include <cstddef>
#include <deque>
#include <semaphore>
#include <thread>

#include "base/files/disk_queue.h"
#include "base/mutex.h"

namespace galen {

// Belongs to its loop, which outlives it. No signal is handled on the thread.
class DiskThread final : public DiskQueue {
 public:
  explicit DiskThread(Loop& loop);
  // Waits until all work is done. Who must not wait for a disk that hangs ends the process instead.
  ~DiskThread() override;

  void Run(Task work, Task done) override;
  // Whether all work that was given is done.
  bool idle() const;

 private:
  struct Job {
    Task work, done;  // both empty: the thread ends
  };

  void Give(Job job);
  void Work();

  Loop& loop_;
  mutable Mutex mu_;  // a loop would not do: the thread sleeps until there is work
  std::deque<Job> jobs_ GALEN_GUARDED_BY(mu_);
  std::size_t undone_ GALEN_GUARDED_BY(mu_) = 0;
  std::counting_semaphore<> given_{0};
  std::thread thread_;
};

}  // namespace galen
