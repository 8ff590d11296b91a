// A CommandRunner whose commands end when a test says so. For tests, on one thread.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "probes/command/command_runner.h"

namespace galen::probes {

class FakeCommandRunner final : public CommandRunner {
 public:
  void Run(CommandRequest request, std::function<void(const CommandEnd&)> done) override {
    requests.push_back(std::move(request));
    running_.push_back(std::move(done));
  }
  // The run that began as the `index`th ends now. May destroy this.
  void End(std::size_t index, CommandEnd end) {
    end.output.resize(std::min(end.output.size(), kCommandOutputBytesMax));
    std::exchange(running_.at(index), {})(end);
  }

  std::vector<CommandRequest> requests;  // all that were run, in order

 private:
  std::vector<std::function<void(const CommandEnd&)>> running_;
};

}  // namespace galen::probes
