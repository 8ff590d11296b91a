#include "base/start_deadline.h"

#include <utility>

#include "base/thread.h"

namespace galen {

StartDeadline::StartDeadline(std::chrono::nanoseconds within, std::function<void()> missed) {
  auto watch = [this, within, missed = std::move(missed)] {
    if (!over_.try_acquire_for(within)) missed();
  };
  // When no thread can be started, the start goes on unwatched; its own threads report the reason.
  StatusOr<std::thread> thread = StartThread("start-deadline", std::move(watch));
  if (thread.ok()) thread_ = *std::move(thread);
}

StartDeadline::~StartDeadline() {
  over_.release();
  if (thread_.joinable()) thread_.join();
}

}  // namespace galen
