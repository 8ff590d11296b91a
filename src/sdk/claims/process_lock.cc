#include "sdk/claims/process_lock.h"

#include <utility>

#include "base/path.h"

namespace galen::sdk {

ProcessLock::ProcessLock(Loop& loop, FileSystem& files, std::string path)
    : loop_(loop), files_(files), path_(std::move(path)) {}

void ProcessLock::Take(std::function<void(StatusOr<Hold>)> done) {
  const StatusOr<Hold> hold = Try();
  if (!hold.ok() || *hold != nullptr) return done(hold);
  waiting_.push_back({loop_.Now() + kPatience, std::move(done)});
  if (waiting_.size() == 1) retry_ = loop_.After(kRetry, [this] { Look(); });
}

StatusOr<ProcessLock::Hold> ProcessLock::Try() {
  if (Hold held = held_.lock()) return held;
  StatusOr<std::unique_ptr<FileLock>> lock = files_.TryLock(path_);
  if (lock.status().code() == Code::kNotFound) {
    RETURN_IF_ERROR(files_.MakeDirectories(ParentOf(path_)));
    lock = files_.TryLock(path_);
  }
  RETURN_IF_ERROR(lock.status());
  Hold hold = std::move(*lock);
  held_ = hold;
  return hold;
}

void ProcessLock::Look() {
  const StatusOr<Hold> hold = Try();
  const bool settled = !hold.ok() || *hold != nullptr;
  // Moved out first: a callback may call Take again.
  std::deque<Waiter> due;
  while (!waiting_.empty() && (settled || waiting_.front().until <= loop_.Now())) {
    due.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (!waiting_.empty()) retry_ = loop_.After(kRetry, [this] { Look(); });
  for (const Waiter& waiter : due) {
    waiter.done(
        settled ? hold
                : StatusOr<Hold>(Unavailable(
                      "another process of this driver has been at work with claims for {} "
                      "s, it holds {}; the kubelet will ask again",
                      std::chrono::duration_cast<std::chrono::seconds>(kPatience).count(), path_)));
  }
}

}  // namespace galen::sdk
