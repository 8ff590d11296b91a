// Something to do once, later. Like std::function<void()>, but its captures need only be movable,
// so that a task can own what it hands over. Movable, not copyable; an empty one does nothing but
// say so. Free of threads: a loop moves it between them. Its captures die with it.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace galen {

class Task {
 public:
  Task() = default;

  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Task> && std::is_invocable_v<F&>)
  Task(F&& f)  // NOLINT(google-explicit-constructor)
      : body_(std::make_unique<Holder<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}

  explicit operator bool() const { return body_ != nullptr; }

  // May be called more than once where the captures allow it. REQUIRES: not empty.
  void operator()() { body_->Run(); }

 private:
  struct Body {
    virtual ~Body() = default;
    virtual void Run() = 0;
  };
  template <typename F>
  struct Holder final : Body {
    explicit Holder(F f) : f_(std::move(f)) {}
    void Run() override { f_(); }
    F f_;
  };

  std::unique_ptr<Body> body_;
};

}  // namespace galen
