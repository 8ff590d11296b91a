#include <algorithm>

#include "probes/command/command_probe.h"

namespace galen::probes {
namespace {

bool IsWithinShare(Duration cpu, Duration interval) {
  using Seconds = std::chrono::duration<double>;
  return Seconds(cpu) <= Seconds(interval) * CheckPace::kCpuShareMost;
}

}  // namespace

void CheckPace::End(Duration cpu, bool timed_out) {
  if (timed_out || !IsWithinShare(cpu, interval())) {
    slowdown_ = std::min(slowdown_ * 2, kSlowdownMost);
  } else if (slowdown_ > 1 && IsWithinShare(cpu, interval() / 2)) {
    slowdown_ /= 2;
  }
}

}  // namespace galen::probes
