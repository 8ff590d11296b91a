// A thread for a disk: a write that hangs for minutes, as on a frozen or failing file system, hangs
// here and nowhere else.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "base/files/disk_queue.h"
#include "base/mutex.h"
#include "base/status.h"

namespace galen {

// Belongs to its loop, which outlives it. No signal is handled on the thread.
class DiskThread final : public DiskQueue {
 public:
  // How a thread is begun; throws std::system_error where there is none left.
  using Begin = std::function<std::thread(Task)>;

  // `name` is the thread's, of 15 letters at most, for those who look at the process with ps or
  // gdb. ResourceExhausted where no thread can be started (a limit of processes or memory).
  static StatusOr<std::unique_ptr<DiskThread>> Start(
      Loop& loop, std::string name,
      const Begin& begin = [](Task work) { return std::thread(std::move(work)); });
  // Waits until all work is done. Who must not wait for a disk that hangs ends the process instead.
  ~DiskThread() override;

  void Run(Task work, Task done) override;
  // Whether all work that was given is done.
  bool idle() const;

 private:
  struct Job {
    Task work, done;  // both empty: the thread ends
  };

  DiskThread(Loop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
  void Give(Job job);
  void Work();

  Loop& loop_;
  const std::string name_;
  mutable Mutex mu_;  // a loop would not do: the thread sleeps until there is work
  std::deque<Job> jobs_ GALEN_GUARDED_BY(mu_);
  std::size_t undone_ GALEN_GUARDED_BY(mu_) = 0;
  std::counting_semaphore<> given_{0};
  std::thread thread_;
};

}  // namespace galen
