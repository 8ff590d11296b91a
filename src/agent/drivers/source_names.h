// Health sources for drivers that are not on this node: a driver's name that is misspelt would look
// like success, since its source connects and reports. Belongs to the agent's loop.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "agent/drivers/plugin_manager.h"
#include "base/log.h"
#include "base/loop/loop.h"

namespace galen::agent {

class SourceNames {
 public:
  // A node that boots starts both at once, and a driver's Pod may come up later.
  static constexpr Duration kDriverWithin = std::chrono::seconds(60);
  // A driver that reconnects within this time counts as never gone.
  static constexpr Duration kComesBackWithin = std::chrono::minutes(5);

  // `drivers` and `sources` are borrowed and outlive this.
  SourceNames(Loop& loop, Log& log, const PluginManager& drivers, const PluginManager& sources)
      : loop_(loop), log_(log), drivers_(drivers), sources_(sources) {}

  // Drivers or sources are others than before.
  void OnChanged();
  // Why nothing of this source is shown, as a sentence; "" while its driver is registered, or may
  // still come.
  std::string TroubleOf(const std::string& driver) const;

 private:
  struct Alone {
    Time since{};
    std::optional<Time> gone{};  // since when it is not connected
    bool warned = false;
  };
  // By name, once each: "gpu.example.com, nic.example.com".
  std::string Registered() const;
  // Drops entries whose driver is back, and warns of those that are due.
  void Warn();

  Loop& loop_;
  Log& log_;
  const PluginManager& drivers_;
  const PluginManager& sources_;
  std::map<std::string, Alone> alone_;  // sources without their driver
  Timer timer_;
};

}  // namespace galen::agent
