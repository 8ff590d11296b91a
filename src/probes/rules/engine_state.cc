// The state of an engine that outlives its process, and the state that outlives its table of rules.
#include <algorithm>
#include <set>
#include <utility>

#include "base/time.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {

void RuleEngine::ReadTable() {
  signs_ = UsesOf(*table_);
  superseders_ = SupersedersOf(*table_);
  awaited_signs_.clear();
  for (const SignSpec& spec : table_->signs) {
    if (options_.awaits_checks && (spec.command || spec.metric)) awaited_signs_.insert(spec.name);
  }
  peer_signs_ = 0;
  std::size_t models = 0;
  for (const auto& [name, use] : signs_) peer_signs_ += use.peers ? 1 : 0;
  for (const auto& [name, device] : devices_) {
    if (device.model) models = std::max(models, *device.model + 1);
  }
  peers_.assign(models * peer_signs_, PeerValues());
}

void RuleEngine::MoveTracks(Device& device, const RuleTable& before, const Instant& at) {
  const std::map<std::size_t, RuleTrack> tracks = std::exchange(device.tracks, {});
  for (auto& [place, trouble] : std::exchange(device.uncompared, {})) {
    const Rule& old = before.rules[place];
    const Rule* rule = table_->FindRule(old.id);
    if (rule == nullptr || rule->sign != old.sign || !AsksForPeers(*rule)) continue;
    const auto index = static_cast<std::size_t>(rule - table_->rules.data());
    device.uncompared.emplace(index, std::move(trouble));
  }
  for (const auto& [place, track] : tracks) {
    const Rule& old = before.rules[place];
    const Rule* rule = table_->FindRule(old.id);
    // A rule of this name about another sign, or that only records now, is another rule.
    const bool goes_on =
        rule != nullptr && rule->sign == old.sign && rule->state != HealthState::kHealthy;
    if (!goes_on) {
      // What it had found is over as of now.
      if (track.finding()) device.good_since = {at.wall, at.now};
      if (track.finding()) device.good_by.clear();
      continue;
    }
    const auto index = static_cast<std::size_t>(rule - table_->rules.data());
    if (*rule == old) {
      device.tracks.emplace(index, track).first->second.Rebind(*rule);
    } else if (const Json saved = track.Save(); !saved.is_null()) {
      TrackOf(device, index).Restore(saved, at);
    }
  }
}

Evaluation RuleEngine::SetTable(const RuleTable& table, const Instant& at) {
  const RuleTable& before = *std::exchange(table_, &table);
  const std::set<std::string> awaited_before = awaited_signs_;
  ReadTable();
  for (auto& [name, device] : devices_) {
    MoveTracks(device, before, at);
    const auto unknown = [this](const auto& entry) { return !signs_.contains(entry.first); };
    std::erase_if(device.latest, unknown);
    std::erase_if(device.best, unknown);
    std::erase_if(device.unreadable,
                  [&](const auto& entry) { return !entry.first.empty() && unknown(entry); });
    std::erase_if(device.awaited,
                  [this](const std::string& sign) { return !awaited_signs_.contains(sign); });
    for (const std::string& sign : awaited_signs_) {
      if (!awaited_before.contains(sign)) device.awaited.insert(sign);
    }
  }
  return Evaluate({}, at);
}

bool MeanDifferentHardware(std::string_view a, std::string_view b) {
  const auto kind = [](std::string_view text) { return text.substr(0, text.find('=')); };
  return a != b && !a.empty() && kind(a) == kind(b);
}

void RuleEngine::SetHardware(const std::map<std::string, std::string>& hardware_of_device) {
  for (auto& [name, device] : devices_) {
    const auto known = hardware_of_device.find(name);
    device.hardware = known == hardware_of_device.end() ? "" : known->second;
  }
}

Json RuleEngine::Save() const {
  Json rows{Json::Array()};
  const auto add = [&rows](const Device& device, Json row) {
    row["device"] = device.health.id.device;
    if (!device.hardware.empty()) row["hardware"] = device.hardware;
    rows.Append(std::move(row));
  };
  for (const auto& [name, device] : devices_) {
    for (const auto& [index, track] : device.tracks) {
      Json row = track.Save();
      if (row.is_null()) continue;
      row["rule"] = table_->rules[index].id;
      add(device, std::move(row));
    }
    for (const auto& [index, trouble] : device.uncompared) {
      add(device, Json::MakeObject({{"rule", table_->rules[index].id},
                                    {"uncompared", trouble.error},
                                    {"since", FormatRfc3339(trouble.since, 9)}}));
    }
    for (const auto& [sign, best] : device.best) {
      add(device, Json::MakeObject({{"sign", sign}, {"best", best}}));
    }
  }
  return rows;
}

void RuleEngine::Restore(const Json& saved, const Instant& at) {
  for (const Json& row : saved.items()) {
    const auto device = devices_.find(row["device"].AsString());
    // Its name is that of a MIG instance or a card that took the place of another. An earlier
    // version did not say what hardware it was.
    if (device != devices_.end() &&
        MeanDifferentHardware(row["hardware"].AsString(), device->second.hardware)) {
      continue;
    }
    if (device != devices_.end() && row.Has("best")) {
      const std::string& sign = row["sign"].AsString();
      const auto use = signs_.find(sign);
      if (use == signs_.end() || !use->second.has_baseline) continue;
      device->second.best[sign] = row["best"].AsDouble();
      continue;
    }
    const Rule* rule = table_->FindRule(row["rule"].AsString());
    // Rules may have been renamed, devices taken out; their findings mean nothing any more.
    if (device == devices_.end() || rule == nullptr) continue;
    const auto index = static_cast<std::size_t>(rule - table_->rules.data());
    if (row.Has("uncompared")) {
      const StatusOr<WallTime> since = ParseRfc3339(row["since"].AsString());
      if (!since.ok() || !AsksForPeers(*rule)) continue;
      device->second.uncompared.emplace(index,
                                        Trouble{row["uncompared"].AsString(), at.Of(*since).time});
      continue;
    }
    TrackOf(device->second, index).Restore(row, at);
  }
}

}  // namespace galen::probes
