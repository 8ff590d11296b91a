// Work that may never return, such as the read of a file whose driver hangs, on a thread that
// nobody waits for.
#pragma once

#include <memory>

#include "base/files/disk_queue.h"

namespace galen::probes {

// Belongs to its loop, which is lent. Destroying it returns at once: work that is under way goes on
// by itself, and its `done` is never called. So work must own all that it touches.
class DetachedQueue final : public DiskQueue {
 public:
  explicit DetachedQueue(Loop& loop);
  ~DetachedQueue() override;
  DetachedQueue(const DetachedQueue&) = delete;

  void Run(Task work, Task done) override;

 private:
  struct Shared;
  static void Work(Shared& shared);

  // Shared with the thread, which outlives this while it hangs in the kernel.
  const std::shared_ptr<Shared> shared_;
};

}  // namespace galen::probes
