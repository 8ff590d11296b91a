// SIGTERM, SIGINT and SIGHUP as events on the loop. The first asks to stop; the second ends the
// process, unless the program says that its clean-up is short and must not be cut off.
// One a process, made by main before anything else; belongs to its loop, which outlives it.
#pragma once

#include <functional>
#include <memory>

#include "base/loop/io_loop.h"

namespace galen {

// What the second signal does to a program that is stopping already.
enum class SecondSignal {
  kEndsTheProcess,  // for servers: a stop may take as long as its slowest peer
  kIsIgnored,       // for a clean-up in bounded time
};

// Stops a program at its first SIGTERM, SIGINT or, unless that is ignored, SIGHUP. One a process;
// belongs to its loop.
class SignalWatch {
 public:
  // Blocks these signals for the process (call before other threads start, they inherit the mask)
  // and ignores SIGPIPE, for good. `on_stop` runs once, on the loop; it may destroy the watch. A
  // second signal that is not ignored exits with 128 + its number at once, as a shell reports it,
  // without any clean-up; a second SIGHUP never does. ResourceExhausted when no descriptor is left.
  static StatusOr<std::unique_ptr<SignalWatch>> Start(
      IoLoop& loop, std::function<void()> on_stop,
      SecondSignal second = SecondSignal::kEndsTheProcess);
  // Gives the signals back as they were before; one that waits then has its default effect. After
  // a stop whose second signal is ignored they stay ignored, so that the process that is about to
  // end does so with the exit code of its own.
  ~SignalWatch();

 private:
  struct Impl;
  explicit SignalWatch(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
