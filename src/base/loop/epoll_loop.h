// The real loop of a process: epoll, one timer heap, one mailbox. The thread that calls Run owns
// all state; Post and Stop may be called from any thread, everything else only from that thread (or
// before Run). Outlives all its timers, watches and the parts that live on it. One turn runs what
// was posted, then what is due, then the descriptors that are ready.
#pragma once

#include <cstdint>
#include <memory>

#include "base/loop/io_loop.h"

namespace galen {

// Tasks are expected to be short: a task that blocks stops everything in the process.
class EpollLoop final : public IoLoop {
 public:
  // ResourceExhausted when the process may open no more descriptors; three are needed.
  static StatusOr<std::unique_ptr<EpollLoop>> Create();
  // Tasks that did not run are destroyed, not run. REQUIRES: Run has returned.
  ~EpollLoop() override;

  // Reads CLOCK_MONOTONIC at each call; time moves while a task runs.
  Time Now() const override;
  // Now() for a thread beside the loop, also when there is no loop.
  static Time Clock();
  // CLOCK_REALTIME; may jump either way.
  WallTime WallNow() const override;
  // Runs in the order of the calls. What a task posts runs in the next turn, after descriptors.
  void Post(Task task) override;
  // A time in the past means now. Never runs early and never from inside this call; what a task
  // asks for "now" runs in the next turn.
  [[nodiscard]] Timer At(Time when, Task task) override;
  // REQUIRES: `fd` is open, is a kind that epoll(7) takes (no plain file) and has no other watch.
  [[nodiscard]] FdWatch WatchFd(int fd, Readiness interest,
                                std::function<void(Readiness)> on_ready) override;

  // How long the loop was in single tasks and callbacks, since it was made: what everybody else
  // waited for. A process that got no processor meanwhile counts as well.
  struct Steps {
    Duration longest = Duration::zero();
    std::uint64_t long_ones = 0;  // longer than kLongStep
  };
  // The longest that a step of ours may take on the machines that we measure on.
  static constexpr Duration kLongStep = std::chrono::milliseconds(20);
  const Steps& steps() const;

  // Runs until Stop. Sleeps without waking while nothing is due. May be called again afterwards; it
  // goes on with what was left.
  void Run();
  // Makes Run return after the task that is running. Before Run it makes the next Run return at
  // once. What has not run stays for the next Run.
  void Stop();

 private:
  struct Impl;
  explicit EpollLoop(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
