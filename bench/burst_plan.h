// What the burst's driver reports: change r concerns device r modulo their number, and turns it
// from Healthy to Unhealthy or back. Pure, so that the driver and who checks it agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

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
// The number in such a sentence, as text; "" for any other.
std::string ChangeIn(std::string_view sentence);

// How many changes each of a run's bursts has, the smallest first. Drawn, evenly by their
// logarithm, so that no limit of what is measured is known here or met by chance. Odd multiples of
// `devices`: each device ends Unhealthy with a sentence that it never had before. REQUIRES: 0 <
// devices < 500.
std::vector<std::int64_t> DrawBursts(Random& random, std::int64_t devices);

// "gpu-0"
std::string DeviceName(std::int64_t device);

}  // namespace galen::bench
