// Work that may never return, such as the read of a file whose driver hangs, on a thread that
// nobody waits for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/files/disk_queue.h"
#include "base/loop/loop.h"

namespace galen::probes {

// Belongs to its loop, which is lent. Destroying it returns at once: work that is under way goes on
// by itself, and its `done` is never called. So work must own all that it touches. Where no thread
// can be started (a limit of processes) work waits, and another try is made each kRetryAfter.
class DetachedQueue final : public DiskQueue {
 public:
  static constexpr Duration kRetryAfter = std::chrono::seconds(5);
  // Does the task on a thread that nobody waits for; false when there is none left.
  using StartThread = std::function<bool(Task)>;
  static bool StartDetached(Task work);

  // `name` is that of its thread in top and ps -L, of 15 bytes at most: "sysfs".
  DetachedQueue(Loop& loop, std::string name, StartThread start_thread = StartDetached);
  ~DetachedQueue() override;
  DetachedQueue(const DetachedQueue&) = delete;

  void Run(Task work, Task done) override;

 private:
  struct Shared;
  static void Work(Shared& shared, const std::string& name);
  void Start();

  Loop& loop_;
  const std::string name_;
  const StartThread start_thread_;
  Timer retry_;
  // Shared with the thread, which outlives this while it hangs in the kernel.
  const std::shared_ptr<Shared> shared_;
};

}  // namespace galen::probes
