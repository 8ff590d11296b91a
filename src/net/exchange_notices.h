// The two callbacks of an exchange, always run from the loop and never from inside a call.
// Internal to this room. Belongs to its loop.
#pragma once

#include <functional>
#include <utility>

#include "base/liveness.h"
#include "base/loop/loop.h"

namespace galen::net {

// A member of each kind of HttpExchange, real and fake, so that all of them keep the same promises:
// notified in the loop's next turn, `gone` once and last, `drained` as often as it happens. Either
// callback may destroy the exchange, and this in it. The loop outlives it.
class ExchangeNotices {
 public:
  explicit ExchangeNotices(Loop& loop) : loop_(loop) {}

  // nullptr takes a callback back.
  void SetOnDrained(std::function<void()> callback) { on_drained_ = std::move(callback); }
  // Set after the event, it is still called.
  void SetOnGone(std::function<void()> callback) {
    on_gone_ = std::move(callback);
    if (is_gone_) NotifySoon();
  }

  // Several calls before the turn make one callback; after Gone there is none.
  void Drained() {
    is_drained_ = true;
    NotifySoon();
  }
  void Gone() {
    is_gone_ = true;
    NotifySoon();
  }

 private:
  void NotifySoon() {
    if (timer_) return;
    // One timer for both: an event that comes again before it ran needs no second one.
    timer_ = loop_.At(loop_.Now(), [this] {
      const Timer ran = std::exchange(timer_, Timer());
      Notify();
    });
  }

  void Notify() {
    Liveness::Watch watch(liveness_);
    if (std::exchange(is_drained_, false) && on_drained_ && !is_gone_) {
      // Moved out of the member while it runs, so that it may destroy us or set another.
      auto on_drained = std::exchange(on_drained_, nullptr);
      on_drained();
      if (!watch.alive()) return;
      if (!on_drained_) on_drained_ = std::move(on_drained);
    }
    if (!is_gone_) return;
    if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
  }

  Loop& loop_;
  bool is_drained_ = false;
  bool is_gone_ = false;
  std::function<void()> on_drained_;
  std::function<void()> on_gone_;
  Timer timer_;
  Liveness liveness_;
};

}  // namespace galen::net
