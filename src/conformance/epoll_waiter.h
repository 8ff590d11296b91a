// Waits on the real loop. A person's Ctrl-C ends every wait at once, except while what was made is
// put away again. Belongs to the loop's thread.
#pragma once

#include "base/loop/epoll_loop.h"
#include "conformance/waiter.h"

namespace galen::conformance {

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
