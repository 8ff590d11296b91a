// A request to end early, for code that waits on a loop: Ctrl-C, a program that died, a reader that
// is gone. Belongs to the loop's thread.
#pragma once

#include <utility>

#include "base/loop/epoll_loop.h"

namespace galen::cli {

// As a shell says of a program that SIGINT ended.
inline constexpr int kExitInterrupted = 130;

class Interrupt {
 public:
  explicit Interrupt(EpollLoop& loop) : loop_(loop) {}
  Interrupt(const Interrupt&) = delete;

  // Wakes the waiting code; the first reason counts. REQUIRES: `why` is not OK.
  void Raise(Status why) {
    if (why_.ok()) why_ = std::move(why);
    loop_.Stop();
  }
  bool raised() const { return !why_.ok(); }
  // OK while not raised.
  const Status& why() const { return why_; }

 private:
  EpollLoop& loop_;
  Status why_;
};

}  // namespace galen::cli
