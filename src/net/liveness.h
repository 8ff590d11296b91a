// Lets a function that runs a callback check whether its object survived it. Belongs to one thread.
// The way of this room wherever a callback may destroy its caller: watch, call out, and touch no
// member when the object is gone.
#pragma once

#include <memory>

namespace galen::net {

// A member of the object that may be destroyed by its own callbacks.
class Liveness {
  struct Mark {};

 public:
  // Lives on the stack around the calls out; may outlive the object.
  class Watch {
   public:
    explicit Watch(const Liveness& object) : mark_(object.mark_) {}
    bool alive() const { return !mark_.expired(); }

   private:
    std::weak_ptr<Mark> mark_;
  };

  Liveness() = default;
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

 private:
  // Shared with nobody: only its end is watched.
  std::shared_ptr<Mark> mark_ = std::make_shared<Mark>();
};

}  // namespace galen::net
