// Where work that blocks is done, so that a loop never waits for it: DiskThread and DetachedQueue
// are threads of their own; FakeDiskQueue does it in the call, or later, when a test says so.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/liveness.h"
#include "base/loop/loop.h"

namespace galen {

// Belongs to one loop.
class DiskQueue {
 public:
  virtual ~DiskQueue() = default;
  // Does `work` once, after what was given before and never two at a time, then calls `done` on the
  // loop; perhaps both inside this call. `work` may run on another thread: it touches nothing of
  // the loop's. `done` exists until `work` has returned, so it can own what `work` uses. Not
  // bounded: who gives work waits for one piece before the next.
  virtual void Run(Task work, Task done) = 0;
};

// Does `work` on the queue and gives `done` what it returned, as Run() does; `done` is not
// called when the object that `owner` belongs to has gone by then. `work` may run on after that, so
// it owns all that it touches or borrows what outlives the queue. It is destroyed after `done` has
// returned; when `done` is never called, once both the queue and `work` have ended.
template <typename Work, typename Done>
void RunFor(const Liveness& owner, DiskQueue& queue, Work work, Done done) {
  struct Piece {
    Work work;
    std::optional<std::invoke_result_t<Work&>> result{};
  };
  auto piece = std::make_unique<Piece>(Piece{std::move(work)});
  Piece& lent = *piece;
  queue.Run(
      [&lent] { lent.result.emplace(lent.work()); },
      [piece = std::move(piece), done = std::move(done), watch = Liveness::Watch(owner)]() mutable {
        if (watch.alive()) done(std::move(*piece->result));
      });
}

}  // namespace galen
