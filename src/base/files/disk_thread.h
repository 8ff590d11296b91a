// A thread for a disk: a write that hangs for minutes, as on a frozen or failing file system, hangs
// here and nowhere else.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/files/disk_queue.h"
#include "base/files/thread_jobs.h"
#include "base/status.h"
#include "base/thread.h"

namespace galen {

// Belongs to its loop, which outlives it.
class DiskThread final : public DiskQueue {
 public:
  // `name` is the thread's, of 15 letters at most. ResourceExhausted where no thread can be
  // started.
  static StatusOr<std::unique_ptr<DiskThread>> Start(
      Loop& loop, const std::string& name, const ThreadStarter& start_thread = StartThread);
  // Waits until all work is done. Who must not wait for a disk that hangs ends the process instead.
  ~DiskThread() override;

  void Run(Task work, Task done) override;
  // Whether all work that was given is done.
  bool idle() const { return jobs_.idle(); }

 private:
  explicit DiskThread(Loop& loop) : jobs_(loop) {}

  ThreadJobs jobs_;
  std::thread thread_;
};

}  // namespace galen
