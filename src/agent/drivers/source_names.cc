#include "agent/drivers/source_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "model/plugin_resource.h"

namespace galen::agent {

void SourceNames::OnChanged() {
  std::set<std::string> connected;
  for (const DriverInfo& source : sources_.drivers()) {
    // A device plugin's resource has no registered driver, and a source that has not given its name
    // yet cannot be checked.
    if (!source.connected || source.name.empty() || IsPluginResource(source.name)) continue;
    connected.insert(source.name);
    alone_.try_emplace(source.name, Alone{.since = loop_.Now()}).first->second.gone.reset();
  }
  for (auto& [name, alone] : alone_) {
    if (!connected.contains(name) && !alone.gone) alone.gone = loop_.Now();
  }
  Warn();
}

void SourceNames::Warn() {
  const Time now = loop_.Now();
  std::erase_if(alone_, [&](const auto& entry) {
    const std::optional<Time>& gone = entry.second.gone;
    return drivers_.IsRegistered(entry.first) || (gone && now - *gone >= kComesBackWithin);
  });
  std::optional<Time> next;
  for (auto& [name, alone] : alone_) {
    if (alone.warned && !alone.gone) continue;
    const Time due = alone.gone ? *alone.gone + kComesBackWithin : alone.since + kDriverWithin;
    if (now < due) {
      next = next ? std::min(*next, due) : due;
      continue;
    }
    alone.warned = true;
    log_.Warning("health source is for a driver that is not on this node: nothing of it is shown",
                 {{"driver", name}, {"registered", Registered()}});
  }
  timer_.Cancel();
  if (next) timer_ = loop_.At(*next, [this] { Warn(); });
}

std::string SourceNames::Registered() const {
  std::set<std::string> names;
  for (const DriverInfo& driver : drivers_.drivers()) {
    if (!driver.name.empty()) names.insert(driver.name);
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string SourceNames::TroubleOf(const std::string& driver) const {
  const auto alone = alone_.find(driver);
  if (alone == alone_.end() || !alone->second.warned) return "";
  return fmt::format("no driver of this name is registered on this node; registered: {}",
                     Registered());
}

}  // namespace galen::agent
