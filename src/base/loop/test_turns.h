// For what a test on a real loop expects not to happen: a counted number of turns instead of a
// time.
#pragma once

#include <functional>

#include "base/loop/loop.h"

namespace galen {

// Far more than anything takes that goes on by itself from here: a response through two sockets
// takes a dozen.
inline constexpr int kTurnsOfRest = 200;

// Turns the loop so often. Each turn looks at the descriptors before it runs what was posted, and
// what a local socket, pipe, signal or directory is given in this process is readable at once: so
// whatever is on its way, and whatever that causes, is there afterwards, however slow the machine.
// Not for what waits for a timer, a thread or another process: wait for that first. `Run` and
// `Stop` are those of the loop.
template <typename RealLoop>
void RunTurns(RealLoop& loop, int turns = kTurnsOfRest) {
  std::function<void()> turn = [&] {
    if (turns-- == 0) return loop.Stop();
    loop.Post([&turn] { turn(); });
  };
  turn();
  loop.Run();
}

}  // namespace galen
