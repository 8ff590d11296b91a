// The only concurrency most of the code ever sees: tasks run one at a time, in order of time. State
// that belongs to a Loop is touched only from its tasks, so it needs no lock. The real one is
// EpollLoop, the fake one FakeLoop, whose time moves when a test says so. A loop outlives the parts
// that are built on it.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "base/time.h"

namespace galen {

// Something to do once, later. Like std::function<void()>, but its captures need only be movable,
// so that a task can own what it hands over. Movable, not copyable; an empty one does nothing but
// say so. Free of threads: a loop moves it between them. Its captures die with it.
class Task {
 public:
  Task() = default;

  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Task> && std::is_invocable_v<F&>)
  Task(F&& f)  // NOLINT(google-explicit-constructor)
      : body_(std::make_unique<Holder<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}

  explicit operator bool() const { return body_ != nullptr; }

  // May be called more than once where the captures allow it. REQUIRES: not empty.
  void operator()() { body_->Run(); }

 private:
  struct Body {
    virtual ~Body() = default;
    virtual void Run() = 0;
  };
  template <typename F>
  struct Holder final : Body {
    explicit Holder(F f) : f_(std::move(f)) {}
    void Run() override { f_(); }
    F f_;
  };

  std::unique_ptr<Body> body_;
};

// A task that waits for its time. Destroying or resetting it cancels the task; it must not outlive
// its loop. Belongs to the loop's thread. Assigning another timer cancels the old one. The task may
// destroy the timer that it runs from.
class Timer {
 public:
  // A waiting task, as its loop keeps it.
  class Entry {
   public:
    virtual ~Entry() = default;
  };

  Timer() = default;
  explicit Timer(std::unique_ptr<Entry> entry) : entry_(std::move(entry)) {}

  // The task is destroyed with its captures, here and now. After it ran this does nothing.
  void Cancel() { entry_.reset(); }
  // Whether a task was asked for and not cancelled; stays true after it ran.
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  std::unique_ptr<Entry> entry_;
};

// Post and nothing else may be called from other threads.
class Loop {
 public:
  virtual ~Loop() = default;

  // Monotonic; for deadlines and delays.
  virtual Time Now() const = 0;
  // Wall time; for what we print or write.
  virtual WallTime WallNow() const = 0;

  // Runs `task` soon, after what is already posted, never from inside this call. Cannot be taken
  // back: a task may hold `this` only of a part that outlives the loop's tasks, otherwise use a
  // Timer for "now". May be called from any thread. Not bounded: who posts for a peer bounds what
  // the peer can cause.
  virtual void Post(Task task) = 0;

  // Runs `task` at `when` unless the timer is gone by then; a time in the past means now,
  // Time::max() never. Never from inside this call. From the loop's own thread only. A timer that
  // is dropped at once would cancel the task, hence [[nodiscard]].
  [[nodiscard]] virtual Timer At(Time when, Task task) = 0;

  // The same, `delay` from now. REQUIRES: Now() + delay does not overflow.
  [[nodiscard]] Timer After(Duration delay, Task task) {
    return At(Now() + delay, std::move(task));
  }
};

}  // namespace galen
