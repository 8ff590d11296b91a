// Runs a credential plugin and gives its standard output; the real one starts a process. The fake
// is FakeExecRunner. Belongs to its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/io_loop.h"
#include "kube/config.h"

namespace galen::kube {

class ExecRunner {
 public:
  virtual ~ExecRunner() = default;
  // `done` runs once, maybe at once; not any more when the runner is destroyed before.
  virtual void Run(const ExecPlugin& plugin, std::function<void(StatusOr<std::string>)> done) = 0;
};

// A plugin that takes longer is killed; one that prints more is killed too.
inline constexpr Duration kExecTimeout = std::chrono::seconds(60);
inline constexpr std::size_t kExecOutputBytesMax = 1024 * 1024;

std::unique_ptr<ExecRunner> MakeExecRunner(IoLoop& loop);

}  // namespace galen::kube
