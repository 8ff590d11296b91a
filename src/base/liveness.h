// Whether an object is still there: for a function that calls out and may be destroyed by what it
// calls, and for a task or an answer that may run after its object has gone. They hold a Watch, and
// touch no member when it is no longer alive. Belongs to one thread; another one may carry a Watch,
// and not ask it.
#pragma once

#include <memory>

namespace galen {

// A member of the object that may be destroyed.
class Liveness {
  struct Mark {};

 public:
  // Lives on the stack around the calls out, or in a callback; may outlive the object.
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
  // Not shared: the watches only see that it has expired.
  std::shared_ptr<Mark> mark_ = std::make_shared<Mark>();
};

}  // namespace galen
