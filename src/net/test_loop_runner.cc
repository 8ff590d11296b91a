// Tested by fd_stream_test.cc, which uses it: it is nothing but support of tests.
#include "net/test_loop_runner.h"

#include "base/check.h"
#include "base/loop/test_turns.h"

namespace galen::net {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);
constexpr Duration kLook = std::chrono::microseconds(200);

}  // namespace

LoopRunner::LoopRunner() : loop_(*EpollLoop::Create()) {}

void LoopRunner::RunUntil(const std::function<bool()>& done) {
  const Time deadline = loop_->Now() + kPatience;
  Timer timer;
  std::function<void()> look = [&] {
    GALEN_CHECK(loop_->Now() < deadline);
    if (done()) return loop_->Stop();
    timer = loop_->After(kLook, [&] { look(); });
  };
  look();
  loop_->Run();
}

void LoopRunner::Settle() { RunTurns(*loop_); }

}  // namespace galen::net
