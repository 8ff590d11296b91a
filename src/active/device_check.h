// An active check of one device: rounds of memory patterns and matrices until its time is over.
#pragma once

#include <cstdint>
#include <string>

#include "active/check_watch.h"
#include "active/compute_device.h"
#include "base/status.h"
#include "model/check_result.h"

namespace galen::active {

// How a device is checked; the defaults are the command line's.
struct DeviceCheckOptions {
  std::uint64_t seed = 0;      // of the random patterns
  double memory_share = 0.05;  // of the memory that is free
  // Bytes tested at most; 0: no bound but the share.
  std::uint64_t memory_bytes_max = 0;
  int rounds_max = 0;  // rounds until it passed; 0: until the time is over
};

// How a check went.
struct CheckOutcome {
  CheckVerdict verdict = CheckVerdict::kUnknown;
  std::string code{};       // of the failure, or of why the outcome is Unknown
  std::string message{};    // one sentence
  int rounds = 0;           // complete ones
  std::uint64_t bytes = 0;  // of memory tested in each round
};

// Blocks for as long as `watch` lets it, on a thread of its own. Passed: one round at least was
// complete, and nothing was wrong in any. Failed: something was, or the device says so itself.
// Unknown: anything else, such as a device that is too hot. What it took is given back with the
// device.
CheckOutcome RunDeviceCheck(ComputeDevice& device, const DeviceCheckOptions& options,
                            CheckWatch& watch);

// The outcome of a check that an error ended and that found nothing so far: see RunDeviceCheck.
// `rounds` were complete; `done` is the progress of the next one: "3 of 26 tests".
CheckOutcome OutcomeOfError(const Status& status, int rounds, std::string_view done);

}  // namespace galen::active
