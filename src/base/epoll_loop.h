// The real loop of a process: epoll, one timer heap, one mailbox. The thread that calls Run owns
// all state; Post and Stop may be called from any thread.
#pragma once

#include <memory>

#include "base/io_loop.h"

namespace galen {

class EpollLoop final : public IoLoop {
 public:
  static StatusOr<std::unique_ptr<EpollLoop>> Create();
  ~EpollLoop() override;

  Time Now() const override;
  WallTime WallNow() const override;
  void Post(Task task) override;
  [[nodiscard]] Timer At(Time when, Task task) override;
  [[nodiscard]] FdWatch WatchFd(int fd, Readiness interest,
                                std::function<void(Readiness)> on_ready) override;

  // Runs until Stop. Sleeps without waking while nothing is due.
  void Run();
  // Makes Run return after the task that is running.
  void Stop();

 private:
  struct Impl;
  explicit EpollLoop(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
