#include "agent/health/health_merger.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "model/plugin_resource.h"

namespace galen::agent {
namespace {

bool IsKnown(const DeviceHealth* health) {
  return health != nullptr && health->state != HealthState::kUnknown;
}

// Names who reported it, at the end of the sentence: people read the finding first.
void Attribute(DeviceHealth& health, const std::string& whose) {
  std::string& message = health.cause.message;
  if (message.empty() && health.state == HealthState::kHealthy) return;
  if (message.empty()) message = health.cause.code;
  const std::string suffix = fmt::format(" ({})", whose);
  message = CutText(message, kReportedMessageBytesMax - suffix.size()) + suffix;
}

// Whether the source's finding counts rather than the driver's, where both are known.
bool SourceDecides(const DeviceHealth& driver, const DeviceHealth& source) {
  if (driver.state != source.state || driver.share != source.share)
    return WorseFirst(source, driver);
  const auto says_why = [](const DeviceHealth& health) {
    return !health.cause.code.empty() && health.cause.code != cause_code::kReported;
  };
  return source.state != HealthState::kHealthy && says_why(source) && !says_why(driver);
}

// Neither knows the device's state: the driver's cause, or the source's if the driver never
// reports.
DeviceHealth BothUnknown(const DeviceHealth* driver, const DeviceHealth* source) {
  if (source == nullptr) return *driver;
  const bool has_none = driver == nullptr || driver->cause.code == cause_code::kNotReported;
  return has_none ? *source : *driver;
}

// Keeps those matches of `before` whose device is not offered any more, while the source still has
// its hardware and no other device is matched to it as a whole; partitions may share it.
void KeepWithdrawn(const DeviceMatches& before, const std::map<DeviceId, HardwareIds>& offered,
                   const std::map<DeviceId, HardwareIds>& probed, DeviceMatches& matches) {
  std::set<DeviceId> taken;
  for (const auto& [id, match] : matches.found) {
    if (!match.partition) taken.insert(match.source);
  }
  for (const auto& [id, match] : before.found) {
    const bool stays = !offered.contains(id) && probed.contains(match.source);
    if (stays && (match.partition || !taken.contains(match.source)))
      matches.found.emplace(id, match);
  }
}

}  // namespace

DeviceHealth MergedHealth(const DeviceHealth* driver, const DeviceHealth* source) {
  GALEN_CHECK(driver != nullptr || source != nullptr);
  if (!IsKnown(driver) && !IsKnown(source)) return BothUnknown(driver, source);
  const bool both = IsKnown(driver) && IsKnown(source);
  const bool source_decides = !IsKnown(driver) || (both && SourceDecides(*driver, *source));
  DeviceHealth merged = source_decides ? *source : *driver;
  const DeviceHealth* other = source_decides ? driver : source;
  const bool contradicted = both && other->state != merged.state;
  if (source_decides) {
    Attribute(merged, contradicted ? fmt::format("seen by Galen's probes; the driver reports {}",
                                                 ToString(other->state))
                                   : "seen by Galen's probes");
  } else if (contradicted) {
    Attribute(merged, fmt::format("reported by the driver; Galen's probes report {}",
                                  ToString(other->state)));
  }
  return merged;
}

std::size_t HealthMerger::Side::OnReport(const DecodedReport& report, Time reported) {
  return source_ ? merger_.OnSourceReport(report, reported)
                 : merger_.OnDriverReport(report, reported);
}

void HealthMerger::Side::OnDriverConnected(const std::string& driver) {
  if (source_) {
    merger_.source_cache_.SetConnected(driver, true);
    const auto joined = merger_.joined_.find(driver);
    if (joined != merger_.joined_.end()) ++joined->second.reports;
  } else {
    merger_.driver_cache_.SetConnected(driver, true);
    merger_.edges_.keeper.OnDriverConnected(driver);
  }
}

void HealthMerger::Side::OnDriverSilent(const std::string& driver, const Cause& why) {
  source_ ? merger_.OnSourceSilent(driver, why) : merger_.OnDriverSilent(driver, why);
}

void HealthMerger::Side::Forget(const DeviceId& id, const std::string& why) {
  if (source_) return;
  if (!merger_.joined_.contains(id.driver)) return merger_.edges_.keeper.Forget(id, why);
  if (merger_.driver_cache_.Find(id) == nullptr) return;
  merger_.driver_cache_.Forget(id);
  merger_.Publish(id.driver, {id}, merger_.edges_.loop.Now());
}

HealthMerger::HealthMerger(Edges edges, const std::vector<TimeoutRule>& rules, Offered offered,
                           Awaited awaited)
    : edges_(edges),
      offered_(std::move(offered)),
      awaited_(std::move(awaited)),
      driver_cache_(rules),
      source_cache_(rules) {}

bool HealthMerger::HasSource(const std::string& driver) const {
  const auto joined = joined_.find(driver);
  return joined != joined_.end() && joined->second.source_reported;
}

std::size_t HealthMerger::OnDriverReport(const DecodedReport& report, Time reported) {
  const std::string& driver = report.report.driver;
  if (!joined_.contains(driver)) {
    // A restored fault may be the source's, which connects a moment later.
    const bool waits = edges_.keeper.cache().HoldsOnlyRestored(driver) && awaited_(driver);
    if (!waits) return edges_.keeper.OnReport(report, reported);
    Join(driver);
  }
  edges_.keeper.OnDriverConnected(driver);
  driver_cache_.SetConnected(driver, true);
  // Devices that this displaces are not lost: they were published, and only are not merged any
  // more.
  driver_cache_.Apply(report, reported, edges_.loop.WallNow());
  driver_cache_.TakeEvicted();
  std::vector<DeviceId> devices;
  for (const DeviceHealth& health : report.report.devices) devices.push_back(health.id);
  Arm();
  const std::size_t changed = Publish(driver, devices, reported, report.continues);
  joined_.at(driver).driver_reported |= !report.more;
  PublishHeld(driver);
  return changed;
}

std::size_t HealthMerger::OnSourceReport(const DecodedReport& report, Time reported) {
  const std::string& driver = report.report.driver;
  Joined& joined = Join(driver);
  source_cache_.SetConnected(driver, true);
  source_cache_.Apply(report, reported, edges_.loop.WallNow());
  if (!std::exchange(joined.source_reported, true)) {
    edges_.log.Info("health source of a driver reports", {{"driver", driver}});
  }
  TakeProbed(joined, report);
  if (!report.more) {
    DropGone(joined);
    if (std::exchange(joined.others, false)) Match(driver, joined);
  }
  std::set<DeviceId> devices;
  for (const DeviceHealth& health : report.report.devices) {
    const auto place = joined.by_source.find(health.id);
    if (place != joined.by_source.end()) devices.insert(place->second.begin(), place->second.end());
  }
  Arm();
  return Publish(driver, {devices.begin(), devices.end()}, reported, report.continues);
}

void HealthMerger::TakeProbed(Joined& joined, const DecodedReport& report) {
  if (!report.continues) ++joined.reports;
  for (const auto& [id, facts] : report.facts) {
    if (source_cache_.Find(id) == nullptr) continue;
    const HardwareIds ids{.uuid = facts.uuid,
                          .pci_address = NormalPciAddress(facts.pci_address),
                          .serial = facts.serial};
    const auto [place, fresh] = joined.probed.try_emplace(id, ids);
    joined.others |= fresh || std::exchange(place->second, ids) != ids;
    joined.seen[id] = joined.reports;
  }
}

void HealthMerger::DropGone(Joined& joined) {
  std::vector<DeviceId> gone;
  for (const auto& [id, number] : joined.seen) {
    if (number + 1 < joined.reports) gone.push_back(id);
  }
  for (const DeviceHealth& health : source_cache_.TakeEvicted()) gone.push_back(health.id);
  for (const DeviceId& id : gone) {
    source_cache_.Forget(id);
    joined.seen.erase(id);
    joined.others |= joined.probed.erase(id) > 0;
  }
}

// A driver without a health service may have a health source, which perhaps connects a moment later
// than the driver. So what an earlier agent left of its devices stays until its own deadline.
void HealthMerger::OnDriverSilent(const std::string& driver, const Cause& why) {
  const bool gone = why.code == cause_code::kDriverGone;
  if (!joined_.contains(driver)) {
    const bool restored = !gone && edges_.keeper.cache().HoldsOnlyRestored(driver);
    return restored ? edges_.keeper.OnDriverConnected(driver)
                    : edges_.keeper.OnDriverSilent(driver, why);
  }
  gone ? edges_.keeper.OnDriverLost(driver, why) : edges_.keeper.OnDriverConnected(driver);
  driver_cache_.SetConnected(driver, !gone);
  joined_.at(driver).driver_reported |= !gone;
  PublishChanged(driver_cache_.Drop(driver, why, edges_.loop.WallNow()), {});
}

void HealthMerger::OnSourceSilent(const std::string& driver, const Cause& why) {
  if (!joined_.contains(driver)) return;
  source_cache_.SetConnected(driver, why.code != cause_code::kDriverGone);
  PublishChanged({}, source_cache_.Drop(driver, why, edges_.loop.WallNow()));
}

HealthMerger::Joined& HealthMerger::Join(const std::string& driver) {
  const auto [place, fresh] = joined_.try_emplace(driver);
  if (!fresh) return place->second;
  DecodedReport own{.report = {.driver = driver}};
  DecodedReport lasting{.report = {.driver = driver}, .lasting = true};
  for (const auto& [id, entry] : edges_.keeper.cache().entries()) {
    // An earlier agent may have got a restored state from a health source and not from the driver:
    // it is held for a while, and does not count as the driver's.
    if (id.driver != driver || entry.silent()) continue;
    if (entry.report == 0) {
      if (IsKnown(&entry.health) && entry.health.state != HealthState::kHealthy) {
        place->second.held.insert(id);
      }
      continue;
    }
    DecodedReport& report = entry.deadline ? own : lasting;
    report.report.devices.push_back(entry.health);
    report.facts[id] = entry.facts;
  }
  driver_cache_.SetConnected(driver, true);
  driver_cache_.Apply(own, edges_.loop.Now(), edges_.loop.WallNow());
  driver_cache_.Apply(lasting, edges_.loop.Now(), edges_.loop.WallNow());
  // A device plugin reports only to the kubelet.
  place->second.driver_reported =
      IsPluginResource(driver) || !own.report.devices.empty() || !lasting.report.devices.empty();
  if (!place->second.held.empty()) {
    place->second.release = edges_.loop.After(kRestoredHold, [this, driver] { EndHold(driver); });
  }
  return place->second;
}

void HealthMerger::OnSlicesChanged() {
  for (auto& [driver, joined] : joined_) Match(driver, joined);
}

void HealthMerger::Match(const std::string& driver, Joined& joined) {
  const std::map<DeviceId, HardwareIds> offered = offered_(driver);
  DeviceMatches matches = MatchDevices(offered, joined.probed);
  KeepWithdrawn(joined.matches, offered, joined.probed, matches);
  if (matches == joined.matches) return;
  LogRefused(driver, matches);
  joined.by_source.clear();
  for (const auto& [id, match] : matches.found) joined.by_source[match.source].push_back(id);
  std::vector<DeviceId> others;
  const DeviceMatches before = std::exchange(joined.matches, std::move(matches));
  for (const auto& [id, match] : before.found) {
    if (!joined.matches.found.contains(id)) others.push_back(id);
  }
  for (const auto& [id, match] : joined.matches.found) {
    const auto known = before.found.find(id);
    if (known == before.found.end() || known->second != match) others.push_back(id);
  }
  Publish(driver, others, edges_.loop.Now());
}

void HealthMerger::LogRefused(const std::string& driver, const DeviceMatches& matches) {
  for (const auto& [id, why] : matches.refused) {
    if (std::exchange(logged_[id], why) == why) continue;
    edges_.log.Warning("health source reports nothing of this device: it cannot be matched",
                       {{"device", ToString(id)}, {"why", why}});
  }
  // A device that is matched now is logged again should it be refused once more.
  std::erase_if(logged_, [&](const auto& item) {
    return item.first.driver == driver && !matches.refused.contains(item.first);
  });
}

std::string HealthMerger::WhyNotMatched(const DeviceId& id) const {
  const auto joined = joined_.find(id.driver);
  if (!HasSource(id.driver) || joined->second.matches.found.contains(id)) return "";
  const auto refused = joined->second.matches.refused.find(id);
  if (refused != joined->second.matches.refused.end()) return refused->second;
  return "no device of its health source has its UUID, PCI address or serial";
}

void HealthMerger::OnForgotten(const DeviceId& id) {
  const auto joined = joined_.find(id.driver);
  if (joined == joined_.end() || offered_(id.driver).contains(id)) return;
  DeviceMatches& matches = joined->second.matches;
  const auto match = matches.found.find(id);
  if (match == matches.found.end()) return;
  std::erase(joined->second.by_source[match->second.source], id);
  matches.found.erase(match);
}

const HealthCache::Entry* HealthMerger::SeenOf(const Joined& joined, const DeviceId& id) const {
  const auto match = joined.matches.found.find(id);
  return match == joined.matches.found.end() ? nullptr : source_cache_.Find(match->second.source);
}

bool HealthMerger::Holds(Joined& joined, const DeviceId& id, const HealthCache::Entry* own,
                         const HealthCache::Entry* seen) {
  if (!joined.held.contains(id)) return false;
  const bool both = seen != nullptr && (own != nullptr || joined.driver_reported);
  if (both) joined.held.erase(id);
  return !both;
}

void HealthMerger::PublishHeld(const std::string& driver) {
  const std::set<DeviceId>& held = joined_.at(driver).held;
  if (!held.empty()) Publish(driver, {held.begin(), held.end()}, edges_.loop.Now(), true);
}

void HealthMerger::EndHold(const std::string& driver) {
  Joined& joined = joined_.at(driver);
  std::vector<DeviceId> reported;
  // A restored device that neither side reports keeps the deadline that it was restored with.
  for (const DeviceId& id : std::exchange(joined.held, {})) {
    if (driver_cache_.Find(id) || SeenOf(joined, id)) reported.push_back(id);
  }
  Publish(driver, reported, edges_.loop.Now());
}

void HealthMerger::PublishChanged(const std::vector<HealthChange>& driver_changes,
                                  const std::vector<HealthChange>& source_changes) {
  std::map<std::string, std::set<DeviceId>> devices;
  for (const HealthChange& change : driver_changes) {
    devices[change.after.id.driver].insert(change.after.id);
  }
  for (const HealthChange& change : source_changes) {
    const std::string& driver = change.after.id.driver;
    const std::map<DeviceId, std::vector<DeviceId>>& by_source = joined_.at(driver).by_source;
    const auto place = by_source.find(change.after.id);
    if (place != by_source.end()) {
      devices[driver].insert(place->second.begin(), place->second.end());
    }
  }
  for (const auto& [driver, ids] : devices) {
    Publish(driver, {ids.begin(), ids.end()}, edges_.loop.Now());
  }
  Arm();
}

std::size_t HealthMerger::Publish(const std::string& driver, const std::vector<DeviceId>& devices,
                                  Time reported, bool continues) {
  Joined& joined = joined_.at(driver);
  // Each side keeps its own deadlines; a device that neither reports any more gets one, so that it
  // is forgotten when it has left.
  DecodedReport merged{.report = {.driver = driver}, .lasting = true, .continues = continues};
  DecodedReport lost{.report = {.driver = driver}, .continues = true};
  for (const DeviceId& id : devices) {
    const HealthCache::Entry* own = driver_cache_.Find(id);
    const HealthCache::Entry* seen = SeenOf(joined, id);
    if (Holds(joined, id, own, seen)) continue;
    if (own == nullptr && seen == nullptr) {
      lost.report.devices.push_back(NotReportedHealth(id));
      continue;
    }
    DeviceHealth health =
        MergedHealth(own ? &own->health : nullptr, seen ? &seen->health : nullptr);
    health.id = id;
    DeviceFacts facts = own ? own->facts : DeviceFacts{};
    // A partition's serial is not its parent's.
    const bool whole = seen && !joined.matches.found.at(id).partition;
    if (facts.serial.empty() && whole) facts.serial = seen->facts.serial;
    if (facts.model.empty() && whole) facts.model = seen->facts.model;
    if (seen && (!own || health.state == seen->health.state)) facts.sign = seen->facts.sign;
    merged.facts[id] = std::move(facts);
    merged.report.devices.push_back(std::move(health));
  }
  std::size_t changed = 0;
  if (!merged.report.devices.empty()) changed += edges_.keeper.OnMerged(merged, reported);
  if (!lost.report.devices.empty()) changed += edges_.keeper.OnMerged(lost, reported);
  return changed;
}

void HealthMerger::Expire() {
  const Time now = edges_.loop.Now();
  const WallTime wall = edges_.loop.WallNow();
  const std::vector<HealthChange> own = driver_cache_.Expire(now, wall);
  PublishChanged(own, source_cache_.Expire(now, wall));
}

void HealthMerger::Arm() {
  std::optional<Time> next = driver_cache_.NextDeadline();
  const std::optional<Time> theirs = source_cache_.NextDeadline();
  if (!next || (theirs && *theirs < *next)) next = theirs;
  if (!next) return deadline_.Cancel();
  deadline_ = edges_.loop.At(*next, [this] { Expire(); });
}

}  // namespace galen::agent
