// Runs a credential plugin and gives its standard output; the real one starts a process. The fake
// is FakeExecRunner. Belongs to its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/loop/io_loop.h"
#include "kube/config.h"

namespace galen::kube {

class ExecRunner {
 public:
  virtual ~ExecRunner() = default;
  // `done` gets what the plugin printed to its standard output; its standard error goes to ours. It
  // is called once, perhaps before this returns, and never after the runner was destroyed.
  // Unauthenticated when the plugin ended badly, DeadlineExceeded, ResourceExhausted, or the error
  // of starting it. Several plugins may run at a time.
  virtual void Run(const ExecPlugin& plugin, std::function<void(StatusOr<std::string>)> done) = 0;
};

// A plugin that takes longer is killed: it may ask a remote login service, never a person. One that
// prints more is killed too; a credential is a few kilobytes.
inline constexpr Duration kExecTimeout = std::chrono::seconds(60);
inline constexpr std::size_t kExecOutputBytesMax = 1024 * 1024;

// Starts processes. The loop outlives it; destroying it kills what runs.
std::unique_ptr<ExecRunner> MakeExecRunner(IoLoop& loop);

}  // namespace galen::kube
