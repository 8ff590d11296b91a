#include "bench/driver_order.h"

#include <fmt/core.h>

#include <charconv>

#include "bench/burst_plan.h"

namespace galen::bench {
namespace {

// The whole text as a number; nullopt when it is none.
std::optional<std::int64_t> NumberIn(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> DriverOrder::IndexOf(const std::string& device) const {
  for (std::int64_t i = 0; i < devices_; ++i) {
    if (device == DeviceName(i)) return i;
  }
  return std::nullopt;
}

bool DriverOrder::WasMade(std::int64_t device, std::int64_t change) const {
  if (change < 0 || change >= changes_) return false;
  const BurstReport report = ReportAfter(change + 1, device, devices_);
  return report.change == change && !report.healthy;
}

void DriverOrder::Add(const std::string& device, HealthState state, std::string_view change) {
  const auto index = IndexOf(device);
  Series* series = index ? &series_[static_cast<std::size_t>(*index)] : nullptr;
  if (series != nullptr) series->now = -1;
  if (state == HealthState::kHealthy || state == HealthState::kUnknown) return;
  ++numbered_;
  const auto number = NumberIn(change);
  const bool made = index && number && WasMade(*index, *number);
  if (made) series->now = *number;
  if (made && *number > series->highest) {
    series->highest = *number;
    return;
  }
  if (++out_of_order_ > 1) return;
  first_fault_ =
      made ? fmt::format("{}: change {} after change {}", device, *number, series->highest)
           : fmt::format("{}: {} \"{}\", which its driver never reported", device, ToString(state),
                         change);
}

std::int64_t DriverOrder::at_the_last() const {
  std::int64_t right = 0;
  for (std::int64_t device = 0; device < devices_; ++device) {
    right += series_[static_cast<std::size_t>(device)].now ==
             ReportAfter(changes_, device, devices_).change;
  }
  return right;
}

}  // namespace galen::bench
