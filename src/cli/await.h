// Turns a callback into a return: runs a loop until the answer is there.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/epoll_loop.h"

namespace galen::cli {

// Runs `loop` until the function given to `start` was called, and gives what it was called with.
template <typename T>
StatusOr<T> Await(EpollLoop& loop,
                  const std::function<void(std::function<void(StatusOr<T>)>)>& start) {
  std::optional<StatusOr<T>> answer;
  start([&](StatusOr<T> result) {
    answer.emplace(std::move(result));
    loop.Stop();
  });
  while (!answer) loop.Run();
  return std::move(*answer);
}

}  // namespace galen::cli
