// Runs a real loop in a test until something has come true, and fails the process when it does
// not within ten seconds.
#pragma once

#include <functional>
#include <memory>

#include "base/epoll_loop.h"

namespace galen::net {

class LoopRunner {
 public:
  LoopRunner();

  EpollLoop& loop() { return *loop_; }
  void RunUntil(const std::function<bool()>& done);
  void RunFor(Duration duration);

 private:
  std::unique_ptr<EpollLoop> loop_;
};

}  // namespace galen::net
