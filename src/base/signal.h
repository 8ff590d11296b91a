// SIGTERM and SIGINT as events on the loop. The first asks to stop, the second ends the process.
#pragma once

#include <functional>
#include <memory>

#include "base/io_loop.h"

namespace galen {

class SignalWatch {
 public:
  // Blocks both signals for the process (call before other threads start) and ignores SIGPIPE.
  // `on_stop` runs once, on the loop. A second signal exits with 128 + its number at once.
  static StatusOr<std::unique_ptr<SignalWatch>> Start(IoLoop& loop, std::function<void()> on_stop);
  ~SignalWatch();

 private:
  struct Impl;
  explicit SignalWatch(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
