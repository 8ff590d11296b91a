// A credential plugin without a process: a test says what it prints, or ends it by hand.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kube/exec_runner.h"

namespace galen::kube {

class FakeExecRunner final : public ExecRunner {
 public:
  void Run(const ExecPlugin& plugin, std::function<void(StatusOr<std::string>)> done) override {
    plugins_.push_back(plugin);
    if (script_.empty()) {
      waiting_.push_back(std::move(done));
      return;
    }
    const StatusOr<std::string> result = std::move(script_.front());
    script_.pop_front();
    done(result);
  }

  // What the next run gives, at once; without one a run waits for Finish.
  void AnswerNext(StatusOr<std::string> result) { script_.push_back(std::move(result)); }
  // Ends the oldest run that waits. May destroy this.
  void Finish(StatusOr<std::string> result) {
    const auto done = std::move(waiting_.front());
    waiting_.pop_front();
    done(std::move(result));
  }

  // What was run so far.
  const std::vector<ExecPlugin>& plugins() const { return plugins_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  std::vector<ExecPlugin> plugins_;
  std::deque<StatusOr<std::string>> script_;
  std::deque<std::function<void(StatusOr<std::string>)>> waiting_;
};

}  // namespace galen::kube
