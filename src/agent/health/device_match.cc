#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "agent/health/health_merger.h"

namespace galen::agent {
namespace {

// One identifier by which a device is found.
struct IdKey {
  std::string_view name;  // for people
  std::string HardwareIds::* member;
};
constexpr IdKey kIdKeys[] = {{"UUID", &HardwareIds::uuid},
                             {"PCI address", &HardwareIds::pci_address},
                             {"serial", &HardwareIds::serial}};

bool IsPartition(const HardwareIds& ids) { return !ids.parent_uuid.empty(); }

// The source's devices by the values of each identifier.
using PlacesByKey = std::map<std::string, DeviceId>[std::size(kIdKeys)];

// Whether the source knows the partition itself, and not only what it is a part of. Some drivers
// give a partition the UUID of the whole device; a UUID of its own begins with "MIG-".
bool IsProbedItself(const HardwareIds& ids, const PlacesByKey& places) {
  return IsPartition(ids) && ids.uuid.starts_with("MIG-") && places[0].contains(ids.uuid);
}

// The identifiers by which a driver's device is looked for: a partition by its own UUID, else by
// its parent's identifiers. Not by its serial, which may be its own and not the parent's.
HardwareIds WantedOf(const HardwareIds& ids, const PlacesByKey& places) {
  if (!IsPartition(ids)) return ids;
  if (IsProbedItself(ids, places)) return {.uuid = ids.uuid, .type = ids.type};
  return {.uuid = ids.parent_uuid, .pci_address = ids.pci_address, .type = ids.type};
}

// The values that more than one device of a side has, by identifier; for whole devices of one type.
class RepeatedIds {
 public:
  explicit RepeatedIds(const std::map<DeviceId, HardwareIds>& devices) {
    std::set<std::pair<std::string, std::string>> seen[std::size(kIdKeys)];
    for (const auto& [id, ids] : devices) {
      if (IsPartition(ids)) continue;
      for (std::size_t i = 0; i < std::size(kIdKeys); ++i) {
        const std::string& value = ids.*kIdKeys[i].member;
        if (!value.empty() && !seen[i].emplace(ids.type, value).second) values_[i].insert(value);
      }
    }
  }
  bool Has(std::size_t key, const std::string& value) const { return values_[key].contains(value); }

 private:
  std::set<std::string> values_[std::size(kIdKeys)];
};

// The match, or the reason for a refusal; neither when nothing matches.
struct MatchOutcome {
  std::optional<DeviceId> match;
  std::string refusal;
};

// Every identifier that both sides have must lead to the same device.
MatchOutcome FindMatch(const HardwareIds& ids, const RepeatedIds& offered,
                       const RepeatedIds& probed, const PlacesByKey& places) {
  const HardwareIds wanted = WantedOf(ids, places);
  MatchOutcome outcome;
  std::string_view by;
  for (std::size_t i = 0; i < std::size(kIdKeys); ++i) {
    const std::string& value = wanted.*kIdKeys[i].member;
    const auto place = places[i].find(value);
    if (value.empty() || place == places[i].end()) continue;
    const bool theirs = !IsPartition(ids) && offered.Has(i, value);
    if (theirs || probed.Has(i, value)) {
      return {.refusal = fmt::format(
                  "{} {} belongs to two devices {}: one of them is wrong", kIdKeys[i].name, value,
                  theirs ? "in the driver's ResourceSlices" : "of the health source")};
    }
    if (outcome.match && *outcome.match != place->second) {
      return {.refusal =
                  fmt::format("its {} is that of {} and its {} that of {}: its ResourceSlice "
                              "is wrong, or the health source's device was replaced",
                              by, outcome.match->device, kIdKeys[i].name, place->second.device)};
    }
    if (!outcome.match) by = kIdKeys[i].name;
    outcome.match = place->second;
  }
  return outcome;
}

// Names an identifier that differs although another one matched: the hardware in the slot was
// replaced on one side. "" when none differs. Serials are not compared: some drivers give the
// board's.
std::string ContradictionOf(const HardwareIds& wanted, const HardwareIds& found) {
  for (const IdKey& key : kIdKeys) {
    const std::string &ours = wanted.*key.member, &theirs = found.*key.member;
    if (key.member == &HardwareIds::serial || ours.empty() || theirs.empty()) continue;
    if (ours != theirs) {
      return fmt::format(
          "its {} is {}, the health source's device has {}: restart the driver or the health "
          "source, whichever still shows the former device",
          key.name, ours, theirs);
    }
  }
  return "";
}

}  // namespace

DeviceMatches MatchDevices(const std::map<DeviceId, HardwareIds>& offered,
                           const std::map<DeviceId, HardwareIds>& probed) {
  const RepeatedIds offered_twice(offered), probed_twice(probed);
  PlacesByKey places;
  for (const auto& [id, ids] : probed) {
    for (std::size_t i = 0; i < std::size(kIdKeys); ++i) {
      if (!(ids.*kIdKeys[i].member).empty()) places[i].emplace(ids.*kIdKeys[i].member, id);
    }
  }
  DeviceMatches matches;
  for (const auto& [id, ids] : offered) {
    MatchOutcome outcome = FindMatch(ids, offered_twice, probed_twice, places);
    if (outcome.match) {
      outcome.refusal = ContradictionOf(WantedOf(ids, places), probed.at(*outcome.match));
    }
    if (!outcome.refusal.empty()) {
      matches.refused[id] = std::move(outcome.refusal);
    } else if (outcome.match) {
      matches.found[id] = {*outcome.match, IsPartition(ids) && !IsProbedItself(ids, places)};
    }
  }
  return matches;
}

}  // namespace galen::agent
