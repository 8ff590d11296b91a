// Runs the loop until a condition holds or time is up, so that an examination reads from top to
// bottom. Two implementations: EpollWaiter on the real loop, and the tests' own on a fake one.
#pragma once

#include <functional>

#include "base/loop/epoll_loop.h"
#include "base/loop/loop.h"

namespace galen::conformance {

class Waiter {
 public:
  virtual ~Waiter() = default;

  // Runs the loop until `done` holds or `limit` has passed; returns whether it holds. `done` is
  // called after each Wake. Not from a task of the loop.
  virtual bool WaitUntil(const std::function<bool()>& done, Duration limit) = 0;
  // Called by every part that received something.
  virtual void Wake() = 0;
  // Whether a person has interrupted the examination: then waits return at once.
  virtual bool interrupted() const = 0;
  // The clean-up begins: from now on waits wait even after an interrupt, because test objects must
  // be removed.
  virtual void StartPuttingAway() {}
};

// Waits on the real loop. A person's Ctrl-C ends every wait at once, except during the clean-up.
// Belongs to the loop's thread.
class EpollWaiter final : public Waiter {
 public:
  // `loop` is borrowed.
  explicit EpollWaiter(EpollLoop& loop) : loop_(loop) {}

  bool WaitUntil(const std::function<bool()>& done, Duration limit) override;
  void Wake() override { loop_.Stop(); }
  void StartPuttingAway() override { putting_away_ = true; }

  // From now on waits return at once, except during the clean-up.
  void Interrupt();
  bool interrupted() const override { return interrupted_; }

 private:
  EpollLoop& loop_;
  bool interrupted_ = false;
  bool putting_away_ = false;
};

}  // namespace galen::conformance
