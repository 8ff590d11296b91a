#include "agent/drivers/report_pacer.h"

#include <algorithm>

namespace galen::agent {
namespace {

double CostOf(std::size_t bytes) {
  const std::size_t tokens = 1 + bytes / ReportPacer::kBytesPerToken;
  return static_cast<double>(std::min<std::size_t>(tokens, ReportPacer::kBurst));
}

}  // namespace

bool ReportPacer::Take(std::size_t bytes, Time now) {
  const double left = LevelAt(now) - CostOf(bytes);
  if (left < 0) return false;
  level_ = left;
  at_ = now;
  return true;
}

Duration ReportPacer::Wait(std::size_t bytes, Time now) const {
  const double lacking = CostOf(bytes) - LevelAt(now);
  if (lacking <= 0) return Duration::zero();
  // Rounded up, or the one who waited would be a nanosecond early.
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(lacking / kPerSecond)) +
         Duration(1);
}

double ReportPacer::LevelAt(Time now) const {
  const double seconds = std::chrono::duration<double>(now - at_).count();
  return std::min<double>(kBurst, level_ + seconds * kPerSecond);
}

}  // namespace galen::agent
