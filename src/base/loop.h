// The only concurrency most of the code ever sees: tasks run one at a time, in order of time.
// State that belongs to a Loop is touched only from its tasks.
#pragma once

#include <memory>
#include <utility>

#include "base/task.h"
#include "base/time.h"

namespace galen {

// A task that waits for its time. Destroying or resetting it cancels the task; it must not
// outlive its loop. Belongs to the loop's thread.
class Timer {
 public:
  // What a loop keeps of a waiting task.
  class Entry {
   public:
    virtual ~Entry() = default;
  };

  Timer() = default;
  explicit Timer(std::unique_ptr<Entry> entry) : entry_(std::move(entry)) {}

  void Cancel() { entry_.reset(); }
  // Whether a task was asked for and not cancelled; stays true after it ran.
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  std::unique_ptr<Entry> entry_;
};

class Loop {
 public:
  virtual ~Loop() = default;

  // Monotonic; for deadlines and delays.
  virtual Time Now() const = 0;
  // What a person's watch shows; for what we print or write.
  virtual WallTime WallNow() const = 0;

  // Runs `task` soon, after what is already posted. May be called from any thread.
  virtual void Post(Task task) = 0;

  // Runs `task` at `when` unless the timer is gone by then. From the loop's own thread only.
  [[nodiscard]] virtual Timer At(Time when, Task task) = 0;

  [[nodiscard]] Timer After(Duration delay, Task task) {
    return At(Now() + delay, std::move(task));
  }
};

}  // namespace galen
