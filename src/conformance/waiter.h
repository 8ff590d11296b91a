// Lets the loop run until something holds or time is up, so that an examination reads from top to
// bottom. Two: EpollWaiter on the real loop, and the tests' own on a fake one.
#pragma once

#include <functional>

#include "base/loop/epoll_loop.h"
#include "base/loop/loop.h"

namespace galen::conformance {

class Waiter {
 public:
  virtual ~Waiter() = default;

  // Runs the loop until `done` holds or `limit` has passed; whether it holds. `done` is looked at
  // after each Wake. Not from a task of the loop.
  virtual bool WaitUntil(const std::function<bool()>& done, Duration limit) = 0;
  // Called by whatever received something.
  virtual void Wake() = 0;
  // Whether a person wants it to end: then nothing is waited for.
  virtual bool interrupted() const = 0;
  // The end has come: from now on waits wait even if a person has interrupted, because what was
  // made must be put away.
  virtual void StartPuttingAway() {}
};

// Waits on the real loop. A person's Ctrl-C ends every wait at once, except while what was made is
// put away again. Belongs to the loop's thread.
class EpollWaiter final : public Waiter {
 public:
  // `loop` is lent.
  explicit EpollWaiter(EpollLoop& loop) : loop_(loop) {}

  bool WaitUntil(const std::function<bool()>& done, Duration limit) override;
  void Wake() override { loop_.Stop(); }
  void StartPuttingAway() override { putting_away_ = true; }

  // From now on nothing is waited for, but for putting away.
  void Interrupt();
  bool interrupted() const override { return interrupted_; }

 private:
  EpollLoop& loop_;
  bool interrupted_ = false;
  bool putting_away_ = false;
};

}  // namespace galen::conformance
