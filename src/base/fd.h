// Owns one file descriptor; closes it when it dies. Movable, not copyable. Empty when it holds a
// negative number, so that the result of open(2) can be given to it before it is looked at. A value
// of one thread.
#pragma once

#include <utility>

namespace galen {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Reset(); }

  // The number, still owned by this; -1 when empty.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // The number, no longer owned: the caller closes it.
  int Release() { return std::exchange(fd_, -1); }
  // Closes the descriptor now. Errors of close(2) are not reported: who must know syncs first.
  void Reset();

 private:
  int fd_ = -1;
};

}  // namespace galen
