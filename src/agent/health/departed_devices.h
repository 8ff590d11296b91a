// Finds devices that have left the node, so that they are not shown as Unknown for ever: for a
// while neither their driver, nor its slices, nor a Pod has named them. Belongs to the agent's
// loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "agent/health/health_keeper.h"
#include "base/log.h"
#include "base/loop/loop.h"

namespace galen::agent {

// Looks now and then, for as long as it lives, and has the keeper forget the devices that have
// left.
class DepartedDevices {
 public:
  static constexpr Duration kLookEvery = std::chrono::minutes(1);
  // How long a driver must have reported without naming the device: this many of the device's
  // deadlines, and no less than the least, since a driver that starts may find some devices later
  // than others.
  static constexpr int kDeadlinesMissed = 10;
  static constexpr Duration kLeast = std::chrono::minutes(5);
  // A driver that is not registered may be in the middle of an update.
  static constexpr Duration kDriverGoneFor = std::chrono::hours(1);

  // What still names a device of the cache.
  struct Traces {
    bool held = false;    // a Pod holds it, or that is not known
    bool listed = false;  // a slice lists it, or that is not known
    bool driver_registered = false;
    // Time since the driver's last report; nullopt: the agent does not listen to it.
    std::optional<Duration> report_age;
  };
  using TracesOf = std::function<Traces(const DeviceId& device)>;
  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Log& log;
    HealthKeeper& keeper;
  };

  // `on_forgotten` is called after a look that found devices that have left. The arguments outlive
  // this.
  DepartedDevices(Edges edges, TracesOf traces_of, std::function<void()> on_forgotten)
      : edges_(edges), traces_of_(std::move(traces_of)), on_forgotten_(std::move(on_forgotten)) {}

  // Once. The first look comes after kLookEvery.
  void Start();

 private:
  void Look();
  // The devices that have left by `now`.
  std::vector<DeviceId> Find(Time now);

  Edges edges_;
  const TracesOf traces_of_;
  const std::function<void()> on_forgotten_;
  std::map<DeviceId, Time> missing_since_;
  Timer look_;
};

}  // namespace galen::agent
