// What the burst's driver reports: change r concerns device r modulo their number, and turns it
// from Healthy to Unhealthy or back. Pure, so that the driver and who checks it agree.
#pragma once

#include <cstdint>
#include <string>

namespace galen::bench {

// The state of one device, as it is reported to the driver's subscribers.
struct BurstReport {
  bool healthy = true;
  std::int64_t change = -1;  // that made it so; -1: none concerned it yet

  bool operator==(const BurstReport&) const = default;
};

// What is reported of `device` after changes 0 to `made` - 1. Its first change makes it Unhealthy,
// the next Healthy, and so on. REQUIRES: 0 <= device < devices.
BurstReport ReportAfter(std::int64_t made, std::int64_t device, std::int64_t devices);

// A sentence that no other change has, so that one seen on a Pod identifies the change; "" before
// the first.
std::string SentenceOf(const BurstReport& report);

// "gpu-0"
std::string DeviceName(std::int64_t device);

}  // namespace galen::bench
