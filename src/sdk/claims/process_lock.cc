#include "sdk/claims/process_lock.h"

#include <utility>

#include "base/path.h"

namespace galen::sdk {

ProcessLock::Hold::Hold(ProcessLock& lock) : lock_(&lock), lock_lives_(lock.liveness_) {
  ++lock.holds_;
}

ProcessLock::Hold::Hold(const Hold& other) : lock_(other.lock_), lock_lives_(other.lock_lives_) {
  if (lock_lives_.alive()) ++lock_->holds_;
}

ProcessLock::Hold& ProcessLock::Hold::operator=(Hold other) {
  std::swap(lock_, other.lock_);
  std::swap(lock_lives_, other.lock_lives_);
  return *this;
}

ProcessLock::Hold::~Hold() {
  if (lock_lives_.alive() && --lock_->holds_ == 0) lock_->held_ = nullptr;
}

ProcessLock::ProcessLock(Loop& loop, FileSystem& files, std::string path)
    : loop_(loop), files_(files), path_(std::move(path)) {}

void ProcessLock::Take(std::function<void(StatusOr<Hold>)> done) {
  const StatusOr<std::optional<Hold>> hold = Try();
  if (!hold.ok()) return done(hold.status());
  if (hold->has_value()) return done(**hold);
  waiting_.push_back({loop_.Now() + kPatience, std::move(done)});
  if (waiting_.size() == 1) retry_ = loop_.After(kRetry, [this] { Look(); });
}

StatusOr<std::optional<ProcessLock::Hold>> ProcessLock::Try() {
  if (held_ != nullptr) return std::optional(Hold(*this));
  StatusOr<std::unique_ptr<FileLock>> lock = files_.TryLock(path_);
  if (lock.status().code() == Code::kNotFound) {
    RETURN_IF_ERROR(files_.MakeDirectories(ParentOf(path_)));
    lock = files_.TryLock(path_);
  }
  RETURN_IF_ERROR(lock.status());
  held_ = *std::move(lock);
  return held_ == nullptr ? std::nullopt : std::optional(Hold(*this));
}

void ProcessLock::Look() {
  const StatusOr<std::optional<Hold>> hold = Try();
  const bool settled = !hold.ok() || hold->has_value();
  // Moved out first: a callback may call Take again.
  std::deque<Waiter> due;
  while (!waiting_.empty() && (settled || waiting_.front().until <= loop_.Now())) {
    due.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (!waiting_.empty()) retry_ = loop_.After(kRetry, [this] { Look(); });
  for (const Waiter& waiter : due) {
    if (!hold.ok()) {
      waiter.done(hold.status());
    } else if (settled) {
      waiter.done(**hold);
    } else {
      waiter.done(
          Unavailable("another process of this driver has been at work with claims for {} s, it "
                      "holds {}; the kubelet will ask again",
                      std::chrono::duration_cast<std::chrono::seconds>(kPatience).count(), path_));
    }
  }
}

}  // namespace galen::sdk
