// Finds devices that have left the node, so that they are not shown as Unknown for ever: nothing
// names them any more, neither their driver, nor its slices, nor a Pod, and that for a while.
// Pure but for what it remembers: since when each device looks like that. Belongs to the agent's
// loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "agent/health/health_cache.h"

namespace galen::agent {

class DepartedDevices {
 public:
  // A driver that reports, but not of the device, for this many of the device's deadlines, and
  // for no less than the least: one that starts may know some of its devices later than others.
  static constexpr int kDeadlinesMissed = 10;
  static constexpr Duration kLeast = std::chrono::minutes(5);
  // A driver that is not registered may be in the middle of an update.
  static constexpr Duration kDriverGoneFor = std::chrono::hours(1);

  // What names a device of the cache.
  struct Traces {
    bool held = false;    // by a Pod, or it is not known
    bool listed = false;  // in a slice, or it is not known
    bool driver_registered = false;
    // Since when the driver's last report; nullopt: nobody listens to it.
    std::optional<Duration> report_age;
  };
  using TracesOf = std::function<Traces(const DeviceId& device)>;

  // The devices that have left by `now`. Asked now and then, for as long as the agent lives.
  std::vector<DeviceId> Look(const HealthCache& cache, const TracesOf& traces_of, Time now);

 private:
  std::map<DeviceId, Time> missing_since_;
};

}  // namespace galen::agent
