// The part of RuleEngine that looks at other devices and other rules: readings compared with those
// of peers, and findings that another finding supersedes.
// Tested by peer_values_test.cc.
#include <fmt/format.h>

#include "probes/rules/rule_engine.h"

namespace galen::probes {

void RuleEngine::SetModels(const std::map<std::string, std::string>& model_of_device,
                           const std::map<std::string, std::string>& whole_of_device) {
  std::map<std::string_view, std::size_t> numbers;
  for (auto& [name, device] : devices_) {
    device.model.reset();
    const auto whole = whole_of_device.find(name);
    device.whole = whole == whole_of_device.end() ? "" : whole->second;
    const auto model = model_of_device.find(name);
    if (model == model_of_device.end() || model->second.empty()) continue;
    device.model = numbers.try_emplace(model->second, numbers.size()).first->second;
  }
  peers_.assign(numbers.size() * peer_signs_, PeerValues());
}

const RuleEngine::Device* RuleEngine::VoterOf(const Device& device, const Sign& sign,
                                              const Instant& at) const {
  if (device.whole.empty()) return &device;
  for (const auto& [name, other] : devices_) {
    if (other.whole != device.whole || other.model != device.model) continue;
    if (!IsSilent(other, at) && other.latest.contains(sign.name)) return &other;
  }
  return nullptr;
}

std::optional<double> RuleEngine::PeersMedian(const Device& device, const Sign& sign,
                                              std::size_t slot, const Instant& at) {
  if (!device.model) return std::nullopt;
  PeerValues& values = peers_[*device.model * peer_signs_ + slot];
  if (values.is_forgotten()) {
    values.Clear();
    for (const auto& [name, other] : devices_) {
      // What a device showed before it fell silent does not count.
      if (other.model != device.model || IsSilent(other, at)) continue;
      const auto latest = other.latest.find(sign.name);
      if (latest == other.latest.end() || VoterOf(other, sign, at) != &other) continue;
      values.Add(latest->second);
    }
    values.Settle();
  }
  const Device* voter = VoterOf(device, sign, at);
  if (voter == nullptr) return std::nullopt;
  const auto own = voter->latest.find(sign.name);
  return own == voter->latest.end() ? std::nullopt : values.MedianOfOthers(own->second);
}

void RuleEngine::ApplyAgainstPeers(Device& device, const Sign& sign, std::size_t rule,
                                   std::size_t slot, const Instant& at) {
  RuleTrack& track = TrackOf(device, rule);
  if (const std::optional<double> median = PeersMedian(device, sign, slot, at)) {
    const Moment when = at.Of(sign.time);
    if (device.uncompared.erase(rule) > 0 && when.at > device.good_since.at) {
      device.good_since = when;
      device.good_by = sign.raw;
    }
    return track.OnReading(sign, *median, at);
  }
  LoseReading(device, rule, sign.time);
}

void RuleEngine::LoseReading(Device& device, std::size_t rule, WallTime time) {
  RuleTrack& track = TrackOf(device, rule);
  const bool had_found = track.finding().has_value();
  track.OnUnreadable();
  // Never bad for want of peers; but what was bad is not known to be well either.
  if (!AsksForPeers(table_->rules[rule]) || !had_found || track.finding()) return;
  device.uncompared.try_emplace(
      rule, Trouble{fmt::format("cannot compare {} with peers any more: fewer than {} of its model "
                                "show a value above 0",
                                table_->rules[rule].sign, kPeersLeast),
                    time});
}

std::optional<std::size_t> RuleEngine::Superseder(const Device& device, std::size_t rule) const {
  for (const std::size_t other : superseders_[rule]) {
    const auto track = device.tracks.find(other);
    if (track != device.tracks.end() && track->second.finding()) return other;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, Finding>> RuleEngine::Findings(std::string_view device) const {
  std::vector<std::pair<std::string, Finding>> findings;
  const auto found = devices_.find(device);
  if (found == devices_.end()) return findings;
  for (const auto& [index, track] : found->second.tracks) {
    if (!track.finding() || Superseder(found->second, index)) continue;
    findings.emplace_back(table_->rules[index].id, *track.finding());
  }
  return findings;
}

std::string RuleEngine::SupersededBy(std::string_view device, std::string_view rule) const {
  const auto found = devices_.find(device);
  const Rule* row = table_->FindRule(rule);
  if (found == devices_.end() || row == nullptr) return "";
  const auto index = static_cast<std::size_t>(row - table_->rules.data());
  const auto track = found->second.tracks.find(index);
  if (track == found->second.tracks.end() || !track->second.finding()) return "";
  const std::optional<std::size_t> other = Superseder(found->second, index);
  return other ? table_->rules[*other].id : "";
}

}  // namespace galen::probes
