// A small value that two threads share: how far the one is, which the other shows.
#pragma once

#include <utility>

#include "base/mutex.h"

namespace galen {

// For a loop and a thread that must not wait for it; what belongs to a loop alone needs none. Safe
// from any thread.
template <typename Value>
class Guarded {
 public:
  Guarded() = default;
  Guarded(const Guarded&) = delete;

  // Changes the value in one piece, and gives what `change` gives. `change` is short and neither
  // calls out nor keeps the reference: the other thread waits for it.
  template <typename Change>
  auto Update(Change change) {
    MutexLock lock(mu_);
    return std::move(change)(value_);
  }
  // As it is now, whole.
  Value Get() const {
    MutexLock lock(mu_);
    return value_;
  }

 private:
  mutable Mutex mu_;
  Value value_ GALEN_GUARDED_BY(mu_){};
};

}  // namespace galen
