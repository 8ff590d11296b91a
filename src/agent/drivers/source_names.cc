#include "agent/drivers/source_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "model/plugin_resource.h"

namespace galen::agent {

void SourceNames::OnChanged() {
  std::map<std::string, Alone> alone;
  for (const DriverInfo& source : sources_.drivers()) {
    // Of a device plugin's resource no driver is registered; whose socket says no name yet is
    // nobody's.
    if (!source.connected || source.name.empty() || IsPluginResource(source.name)) continue;
    if (drivers_.IsRegistered(source.name)) continue;
    const auto before = alone_.find(source.name);
    alone[source.name] = before == alone_.end() ? Alone{.since = loop_.Now()} : before->second;
  }
  alone_ = std::move(alone);
  Say();
}

void SourceNames::Say() {
  const Time now = loop_.Now();
  std::optional<Time> next;
  for (auto& [name, alone] : alone_) {
    if (alone.said) continue;
    const Time due = alone.since + kDriverWithin;
    if (now < due) {
      next = next ? std::min(*next, due) : due;
      continue;
    }
    alone.said = true;
    log_.Warning("health source is for a driver that is not on this node: nothing of it is shown",
                 {{"driver", name}, {"registered", Registered()}});
  }
  timer_.Cancel();
  if (next) timer_ = loop_.At(*next, [this] { Say(); });
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
  if (alone == alone_.end() || !alone->second.said) return "";
  return fmt::format("no driver of this name is registered on this node; registered: {}",
                     Registered());
}

}  // namespace galen::agent
