// A watch over a start that may block for ever, by a thread of its own and the machine's clock.
#pragma once

#include <chrono>
#include <functional>
#include <semaphore>
#include <thread>

namespace galen {

// Watches from its construction to its destruction. Not for a loop's work, whose deadlines are
// timers.
class StartDeadline {
 public:
  // `missed` runs once, on the watch's thread, when this still lives after `within`. It may end the
  // process; if it returns, the start goes on.
  StartDeadline(std::chrono::nanoseconds within, std::function<void()> missed);
  // Waits for `missed`, if it runs.
  ~StartDeadline();
  StartDeadline(const StartDeadline&) = delete;

 private:
  std::binary_semaphore over_{0};
  std::thread thread_;
};

}  // namespace galen
