// Work that may never return, such as the read of a file whose driver hangs, on a thread that
// nobody waits for.
#pragma once

#include <memory>
#include <string>

#include "base/files/disk_queue.h"
#include "base/files/thread_jobs.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "base/thread.h"

namespace galen {

// Belongs to its loop, which is lent. Destroying it returns at once: work that is under way goes on
// by itself, and its `done` is never called. So work must own all that it touches. Where no thread
// can be started (a limit of processes) work waits, and another try is made each kRetryAfter.
class DetachedQueue final : public DiskQueue {
 public:
  static constexpr Duration kRetryAfter = std::chrono::seconds(5);

  // `name` is that of its thread in top and ps -L, of 15 letters at most: "sysfs".
  DetachedQueue(Loop& loop, std::string name, ThreadStarter start_thread = StartThread);
  ~DetachedQueue() override;
  DetachedQueue(const DetachedQueue&) = delete;

  void Run(Task work, Task done) override;
  // OK, or why it has no thread yet.
  const Status& started() const { return started_; }

 private:
  void Start();

  Loop& loop_;
  const std::string name_;
  const ThreadStarter start_thread_;
  Status started_;
  Timer retry_;
  // Shared with the thread, which outlives this while it hangs in the kernel.
  const std::shared_ptr<ThreadJobs> jobs_;
};

}  // namespace galen
