// A Loop that also waits for file descriptors. The real one is EpollLoop; code that needs no
// descriptors takes a Loop, so that it runs under a FakeLoop.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/loop/loop.h"

namespace galen {

// Events that a descriptor is watched for, or was found ready for.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // error or hang-up; reported whether asked for or not

  bool operator==(const Readiness&) const = default;
};

// A watched descriptor. Destroying it ends the watch; the descriptor itself stays its owner's. Used
// on the loop's thread only.
class FdWatch {
 public:
  class Entry {
   public:
    virtual ~Entry() = default;
    virtual void SetInterest(Readiness interest) = 0;
  };

  FdWatch() = default;
  // Made by a loop; an entry belongs to that loop's thread and dies before the loop does.
  explicit FdWatch(std::unique_ptr<Entry> entry) : entry_(std::move(entry)) {}

  // Replaces the events that are watched for; a hang-up is reported even with none. Costs a system
  // call. REQUIRES: not empty.
  void SetInterest(Readiness interest) { entry_->SetInterest(interest); }
  // No event is delivered from then on, not even one of this turn. Repeating it does nothing.
  void Cancel() { entry_.reset(); }
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  std::unique_ptr<Entry> entry_;
};

// Descriptors are borrowed: their owner ends the watch before it closes them. All calls are made on
// the loop's own thread, but for Post.
class IoLoop : public Loop {
 public:
  // Calls `on_ready` from the loop's thread whenever `fd` is ready for something in `interest`
  // (level-triggered: again and again until it is read or written). `on_ready` may destroy the
  // watch and goes on with its captures intact. REQUIRES: `fd` is open and has no other watch on
  // this loop.
  [[nodiscard]] virtual FdWatch WatchFd(int fd, Readiness interest,
                                        std::function<void(Readiness)> on_ready) = 0;
};

}  // namespace galen
