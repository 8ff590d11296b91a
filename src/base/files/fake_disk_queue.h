// A disk queue without a thread: work is done in the call that gives it, or waits while the disk
// hangs. For tests and simulations.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "base/files/disk_queue.h"

namespace galen {

// What waits when it is destroyed is never done, as when a process is killed.
class FakeDiskQueue final : public DiskQueue {
 public:
  void Run(Task work, Task done) override {
    jobs_.emplace_back(std::move(work), std::move(done));
    DoAll();
  }

  // From now on work waits; what is being done is answered no more either.
  void Hang() { hangs_ = true; }
  // What waits is done now.
  void GoOn() {
    hangs_ = false;
    DoAll();
  }
  bool hangs() const { return hangs_; }
  std::size_t waiting() const { return jobs_.size(); }

 private:
  void DoAll() {
    // What is given by who is called here comes after.
    if (std::exchange(busy_, true)) return;
    while (!hangs_ && !jobs_.empty()) {
      auto [work, done] = std::move(jobs_.front());
      jobs_.pop_front();
      work();
      if (hangs_) {
        jobs_.emplace_front([] {}, std::move(done));
        break;
      }
      done();
    }
    busy_ = false;
  }

  std::deque<std::pair<Task, Task>> jobs_;
  bool hangs_ = false;
  bool busy_ = false;
};

}  // namespace galen
