// Where work that blocks on a disk is done, so that a loop never waits for one: DiskThread is a
// thread of its own; FakeDiskQueue does it in the call, or later, when a test says so.
#pragma once

#include "base/loop/loop.h"

namespace galen {

// Belongs to one loop.
class DiskQueue {
 public:
  virtual ~DiskQueue() = default;
  // Does `work` once, after what was given before and never two at a time, then calls `done` on the
  // loop; perhaps both inside this call. `work` may run on another thread: it touches nothing of
  // the loop's. Not bounded: who gives work waits for one piece before the next.
  virtual void Run(Task work, Task done) = 0;
};

}  // namespace galen
