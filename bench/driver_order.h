// Whether what was recorded of a driver's changes, or published of them, is what the driver made,
// in the order in which it made them. The driver numbers its changes (burst_plan.h); here a journal
// and Pods are held against those numbers, never against what the agent says of itself. Values;
// free of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/health.h"

namespace galen::bench {

// One series of states for each device, as it was read in the journal or on a Pod. Of one burst.
class DriverOrder {
 public:
  // The driver made changes 0 to `changes` - 1 over `devices`. REQUIRES: 0 < devices.
  DriverOrder(std::int64_t changes, std::int64_t devices)
      : changes_(changes), devices_(devices), series_(static_cast<std::size_t>(devices)) {}

  // The next state of `device` in its series. `change` is the number that it shows, as text: a
  // cause's value. Healthy and Unknown have none and stand anywhere: the driver's stream merges. A
  // number that the driver never gave, gave to another device or to a Healthy state, or gave before
  // one that this series has shown already is out of order.
  void Add(const std::string& device, HealthState state, std::string_view change);

  // States that were added and have a number.
  std::uint64_t numbered() const { return numbered_; }
  // Those of them that are not what the driver made, in its order.
  std::uint64_t out_of_order() const { return out_of_order_; }
  // The first one of these, for a person; "" when there is none.
  const std::string& first_fault() const { return first_fault_; }
  // Devices whose series ends with the number of the last change that the driver made there.
  std::int64_t at_the_last() const;

 private:
  struct Series {
    std::int64_t highest = -1;  // number so far; -1: none
    std::int64_t now = -1;      // number that it ends with; -1: a state without one
  };

  // The number of a device by its name; nullopt: not of this driver.
  std::optional<std::int64_t> IndexOf(const std::string& device) const;
  // Whether the driver turned the device to Unhealthy by this change.
  bool WasMade(std::int64_t device, std::int64_t change) const;

  std::int64_t changes_, devices_;
  std::vector<Series> series_;  // by device
  std::uint64_t numbered_ = 0, out_of_order_ = 0;
  std::string first_fault_;
};

}  // namespace galen::bench
