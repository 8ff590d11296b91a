// Runs a real loop in a test until something has come true, and fails the process when it does not
// within ten seconds. For tests that need sockets or threads; others take a FakeLoop.
#pragma once

#include <functional>
#include <memory>

#include "base/loop/epoll_loop.h"

namespace galen::net {

class LoopRunner {
 public:
  LoopRunner();

  EpollLoop& loop() { return *loop_; }
  // Looks at `done` on the loop, again and again.
  void RunUntil(const std::function<bool()>& done);
  // For what is expected not to happen: handles all that is on its way on this machine.
  void Settle();

 private:
  std::unique_ptr<EpollLoop> loop_;
};

}  // namespace galen::net
