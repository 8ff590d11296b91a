// Waits on a loop whose time moves only here: from one task to the next. For tests.
#pragma once

#include "base/loop/fake_loop.h"
#include "conformance/waiter.h"

namespace galen::conformance {

class FakeWaiter final : public Waiter {
 public:
  explicit FakeWaiter(FakeLoop& loop) : loop_(loop) {}

  bool WaitUntil(const std::function<bool()>& done, Duration limit) override {
    const Time end = loop_.Now() + limit;
    const Timer timer = loop_.At(end, [] {});  // so that time goes no further
    while (!done() && loop_.Now() < end && (!interrupted_ || putting_away_) && loop_.Step()) {
    }
    return done();
  }
  void Wake() override {}
  void StartPuttingAway() override { putting_away_ = true; }

  bool interrupted() const override { return interrupted_; }

  void Interrupt() { interrupted_ = true; }

 private:
  FakeLoop& loop_;
  bool interrupted_ = false;
  bool putting_away_ = false;
};

}  // namespace galen::conformance
