// Whether what a driver reported last by the plan is what the agent knows and the Pods show. For
// parts whose driver is bench's own.
#pragma once

#include <map>
#include <string>

#include "bench/burst_plan.h"
#include "bench/driver_order.h"
#include "bench/rig.h"

namespace galen::bench {

// The plan was carried out: `changes` over `devices`, each held by a Pod.
struct LastReports {
  std::int64_t changes = 0, devices = 0;
  std::map<std::string, BurstReport> reports = {};  // by Pod: the last on its device
};

// NotFound when not every device has its Pod.
StatusOr<LastReports> ExpectedAfter(Rig& rig, std::int64_t changes, std::int64_t devices);

// How many Pods have the last report on their device.
int PodsRight(Rig& rig, const LastReports& last);
// How many devices the agent knows rightly.
StatusOr<int> DevicesRight(Rig& rig, const LastReports& last);
// Waits until all Pods have it, `limit` at most: one that does not is a figure, not an error.
Status AwaitPods(Rig& rig, const LastReports& last, Duration limit);

// While it lives, the order of what the Pods show of their devices. The rig outlives it; one at a
// time.
class OrderOnPods {
 public:
  // `device_of` by Pod; the driver makes `changes` over `devices`.
  OrderOnPods(Rig& rig, std::map<std::string, std::string> device_of, std::int64_t changes,
              std::int64_t devices);
  ~OrderOnPods() { rig_.pods().OnDevice({}); }
  OrderOnPods(const OrderOnPods&) = delete;

  const DriverOrder& order() const { return order_; }

 private:
  Rig& rig_;
  const std::map<std::string, std::string> device_of_;
  DriverOrder order_;
};

// Lets the driver begin, by its file.
void LetBegin(const OwnDriver& driver);
// Waits for the file in which it says how long its changes took.
StatusOr<Duration> AwaitChanges(Rig& rig, const OwnDriver& driver, Duration limit);

}  // namespace galen::bench
