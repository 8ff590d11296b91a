// SIGTERM and SIGINT as events on the loop. The first asks to stop, the second ends the process.
// One a process, made by main before anything else; belongs to its loop, which outlives it.
#pragma once

#include <functional>
#include <memory>

#include "base/io_loop.h"

namespace galen {

class SignalWatch {
 public:
  // Blocks both signals for the process (call before other threads start, they inherit the mask)
  // and ignores SIGPIPE, for good. `on_stop` runs once, on the loop; it may destroy the watch. A
  // second signal exits with 128 + its number at once, as a shell reports it, without any clean-up.
  // ResourceExhausted when no descriptor is left.
  static StatusOr<std::unique_ptr<SignalWatch>> Start(IoLoop& loop, std::function<void()> on_stop);
  // Gives both signals back as they were before; one that waits then has its default effect.
  ~SignalWatch();

 private:
  struct Impl;
  explicit SignalWatch(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
