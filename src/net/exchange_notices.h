// The two callbacks of an exchange, always run from the loop and never from inside a call.
// Internal to this room. Belongs to its loop.
#pragma once

#include <functional>
#include <utility>

#include "base/loop.h"
#include "net/liveness.h"

namespace galen::net {

// A member of each kind of HttpExchange; either callback may destroy the exchange, and this in it.
class ExchangeNotices {
 public:
  explicit ExchangeNotices(Loop& loop) : loop_(loop) {}

  void SetOnDrained(std::function<void()> callback) { on_drained_ = std::move(callback); }
  void SetOnGone(std::function<void()> callback) {
    on_gone_ = std::move(callback);
    if (is_gone_) TellSoon();
  }

  void Drained() {
    is_drained_ = true;
    TellSoon();
  }
  void Gone() {
    is_gone_ = true;
    TellSoon();
  }

 private:
  void TellSoon() {
    if (timer_) return;
    timer_ = loop_.At(loop_.Now(), [this] {
      const Timer ran = std::exchange(timer_, Timer());
      Tell();
    });
  }

  void Tell() {
    Liveness::Watch watch(liveness_);
    if (std::exchange(is_drained_, false) && on_drained_ && !is_gone_) {
      // Out of the member while it runs, so that it may destroy us or set another.
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
