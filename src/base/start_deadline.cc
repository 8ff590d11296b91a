#include "base/start_deadline.h"

#include <system_error>
#include <utility>

namespace galen {

StartDeadline::StartDeadline(std::chrono::nanoseconds within, std::function<void()> missed) {
  auto watch = [this, within, missed = std::move(missed)] {
    if (!over_.try_acquire_for(within)) missed();
  };
  // Where no thread is left the start goes on unwatched: what it starts itself says so.
  try {
    thread_ = std::thread(std::move(watch));
  } catch (const std::system_error&) {
  }
}

StartDeadline::~StartDeadline() {
  over_.release();
  if (thread_.joinable()) thread_.join();
}

}  // namespace galen
