// Turns a callback into a return: runs a loop until the answer is there.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/liveness.h"
#include "base/loop/epoll_loop.h"
#include "cli/interrupt.h"

namespace galen::cli {

// Runs `loop` until the function that `start` gets was called, and returns its argument; or until
// `interrupt` (null: none) is raised, and returns its reason.
template <typename T>
StatusOr<T> Await(EpollLoop& loop,
                  const std::function<void(std::function<void(StatusOr<T>)>)>& start,
                  const Interrupt* interrupt = nullptr) {
  const auto interrupted = [&] { return interrupt != nullptr && interrupt->raised(); };
  if (interrupted()) return interrupt->why();
  std::optional<StatusOr<T>> answer;
  const Liveness waiting;  // the callback may still be called after an interrupt has ended the wait
  start([&answer, &loop, watch = Liveness::Watch(waiting)](StatusOr<T> result) {
    if (!watch.alive()) return;
    answer.emplace(std::move(result));
    loop.Stop();
  });
  while (!answer && !interrupted()) loop.Run();
  if (!answer) return interrupt->why();
  return *std::move(answer);
}

}  // namespace galen::cli
