#include "probes/sysfs/rules_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "probes/rules/rule_engine.h"
#include "probes/sysfs/device_signs.h"

namespace galen::probes {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(2);

struct Step {
  Duration at{};
  std::map<std::string, DeviceLook> looks{};  // by the device's directory
};

StatusOr<std::vector<Step>> ReadSteps(const SysfsFiles& files, const std::string& directory,
                                      const RuleTable& rules) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  std::vector<Step> steps;
  for (const std::string& name : names) {
    // A page that says what the recording is may lie beside its steps.
    if (!files.IsDirectory(directory + "/" + name)) continue;
    const StatusOr<Duration> at = ParseDuration(name);
    if (!at.ok() || *at > kReplayMost) {
      return InvalidArgument("{}/{} is no time up to 24h like 0s or 30s", directory, name);
    }
    Step step{.at = *at};
    ASSIGN_OR_RETURN(const std::vector<std::string> devices, files.List(directory + "/" + name));
    for (const std::string& device : devices) {
      step.looks[device] = LookAtDevice(files, directory + "/" + name + "/" + device, rules.signs,
                                        [](const std::string&, const std::string&) {});
    }
    steps.push_back(std::move(step));
  }
  if (steps.empty()) {
    return InvalidArgument("{} has no steps: directories named by a time, such as 0s", directory);
  }
  std::ranges::sort(steps, {}, &Step::at);
  return steps;
}

// Plays steps to an engine and notes what comes and goes.
class Player {
 public:
  Player(const RuleTable& rules, const std::set<std::string>& devices)
      : rules_(rules), engine_(rules, {}) {
    engine_.SetDevices({devices.begin(), devices.end()}, AtTime(Duration::zero()));
    for (const std::string& name : devices) {
      devices_.emplace(name, DeviceSigns(rules, {name, name}));
    }
  }

  void Look(const Step& step, Duration at) {
    std::vector<Sign> signs;
    for (auto& [name, device] : devices_) {
      const auto look = step.looks.find(name);
      const DeviceLook shown = look == step.looks.end() ? DeviceLook() : look->second;
      for (Sign& sign : device.Take(Due(name, shown, at), AtTime(at).wall)) {
        signs.push_back(std::move(sign));
      }
    }
    for (const HealthChange& change : engine_.Evaluate(signs, AtTime(at)).changes) {
      NoteUnknown(change, at);
    }
    for (const auto& [name, device] : devices_) Note(name, at);
  }

  std::vector<ReplayEvent> TakeEvents() { return std::move(events_); }
  std::vector<DeviceHealth> Health() const { return engine_.Snapshot(); }

 private:
  static Instant AtTime(Duration at) { return {Time(at), WallTime(at)}; }

  // Without the signs that a driver does not read yet: those with `every`, until that has passed.
  DeviceLook Due(const std::string& device, DeviceLook look, Duration at) {
    std::map<std::string, Duration>& next = next_[device];
    // Whatever is back may be another device: all of it is read at once.
    if (!look.present) next.clear();
    std::erase_if(look.readings, [&](const SignReading& reading) {
      const SignSpec* sign = rules_.FindSign(reading.sign);
      if (sign == nullptr || !sign->file || sign->file->every <= Duration::zero()) return false;
      Duration& due = next.try_emplace(reading.sign, at).first->second;
      if (at < due) return true;
      due = at + sign->file->every;
      return false;
    });
    return look;
  }

  // What no rule says: that nobody knows how the device is, and that somebody does again.
  void NoteUnknown(const HealthChange& change, Duration at) {
    const bool first_look = change.before.cause.code == cause_code::kNotProbed;
    const HealthState before = change.before.state, after = change.after.state;
    if (first_look || (before != HealthState::kUnknown && after != HealthState::kUnknown)) return;
    events_.push_back({.at = at,
                       .device = change.after.id.device,
                       .state = after,
                       .sentence = change.after.cause.message});
  }
  void Note(const std::string& device, Duration at) {
    std::map<std::string, Finding> now;
    for (auto& [rule, finding] : engine_.Findings(device)) now[rule] = std::move(finding);
    std::map<std::string, Finding>& before = holding_[device];
    for (const auto& [rule, finding] : before) {
      if (!now.contains(rule)) events_.push_back(EventOf(device, rule, finding, false, at));
    }
    for (const auto& [rule, finding] : now) {
      if (!before.contains(rule)) events_.push_back(EventOf(device, rule, finding, true, at));
    }
    before = std::move(now);
  }
  static ReplayEvent EventOf(const std::string& device, const std::string& rule,
                             const Finding& finding, bool began, Duration at) {
    return {.at = at,
            .device = device,
            .rule = rule,
            .began = began,
            .state = finding.state,
            .sentence = finding.cause.message};
  }

  const RuleTable& rules_;
  RuleEngine engine_;
  std::map<std::string, DeviceSigns> devices_;
  std::map<std::string, std::map<std::string, Duration>> next_;  // by device and sign with `every`
  std::map<std::string, std::map<std::string, Finding>> holding_;  // by device and rule
  std::vector<ReplayEvent> events_;
};

}  // namespace

StatusOr<Replay> ReplayRules(const SysfsFiles& files, const std::string& directory,
                             const RuleTable& rules) {
  ASSIGN_OR_RETURN(const std::vector<Step> steps, ReadSteps(files, directory, rules));
  std::set<std::string> devices;
  for (const Step& step : steps) {
    for (const auto& [name, look] : step.looks) devices.insert(name);
  }
  Player player(rules, devices);
  const Duration length = steps.back().at + kReplayTail;
  std::size_t step = 0;
  for (Duration at = steps.front().at; at <= length; at += kLookEvery) {
    while (step + 1 < steps.size() && steps[step + 1].at <= at) ++step;
    player.Look(steps[step], at);
  }
  return Replay{.events = player.TakeEvents(), .length = length, .end = player.Health()};
}

std::string ReplayText(const Replay& replay) {
  const auto seconds = [](Duration at) {
    return fmt::format("{:g}s", std::chrono::duration<double>(at).count());
  };
  std::string text;
  for (const ReplayEvent& event : replay.events) {
    text += fmt::format("{} {} ", seconds(event.at), event.device);
    if (!event.rule.empty()) text += event.rule + (event.began ? " began, " : " ended");
    if (event.began || event.rule.empty()) text += ToString(event.state);
    if (!event.sentence.empty() && (event.began || event.rule.empty())) {
      text += ": " + event.sentence;
    }
    text += "\n";
  }
  for (const DeviceHealth& health : replay.end) {
    text +=
        fmt::format("{} {} {}", seconds(replay.length), health.id.device, ToString(health.state));
    if (!health.cause.message.empty()) text += ": " + health.cause.message;
    text += "\n";
  }
  return text;
}

}  // namespace galen::probes
