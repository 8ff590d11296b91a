#include "probes/recording/rules_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "probes/recording/recording.h"
#include "probes/recording/recording_reader.h"
#include "probes/recording/shown_signs.h"
#include "probes/rules/rule_engine.h"
#include "probes/sysfs/device_signs.h"

namespace galen::probes {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(2);

struct Step {
  Duration at{};
  std::map<std::string, DeviceLook> looks{};  // by the device's directory
  std::vector<Sign> signs{};                  // that are no files
};

StatusOr<std::vector<RecordedDevice>> ReadDevices(const SysfsFiles& files,
                                                  const std::string& directory) {
  const std::string path = directory + "/" + std::string(kRecordingFile);
  const auto text = files.Read(path);
  if (text.status().code() == Code::kNotFound) return std::vector<RecordedDevice>();
  if (!text.ok()) return text.status();
  return ReadRecordedDevices(*text, path);
}

StatusOr<std::vector<Step>> ReadSteps(RecordingReader& reader, const SysfsFiles& files,
                                      const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  std::vector<Step> steps;
  for (const std::string& name : names) {
    // A page that says what the recording is may lie beside its steps.
    if (!files.IsDirectory(directory + "/" + name)) {
      reader.NoteBesideSteps(name);
      continue;
    }
    const StatusOr<Duration> at = ParseDuration(name);
    if (!at.ok() || *at > kReplayMost) {
      return InvalidArgument("{}/{} is not a time up to 24h like 0s or 30s", directory, name);
    }
    Step step{.at = *at};
    ASSIGN_OR_RETURN(step.signs, reader.SignsOf(name));
    ASSIGN_OR_RETURN(step.looks, reader.LooksOf(name));
    steps.push_back(std::move(step));
  }
  if (steps.empty()) {
    return InvalidArgument("{} has no steps: directories named by a time, such as 0s", directory);
  }
  std::ranges::sort(steps, {}, &Step::at);
  return steps;
}

// How many signs of the recording some rule looks at.
std::size_t Tried(const std::vector<Step>& steps, const std::set<std::string>& devices,
                  const RuleTable& rules) {
  std::set<std::string_view> looked_at;
  for (const Rule& rule : rules.rules) looked_at.insert(rule.sign);
  std::set<std::string_view> with_files;
  for (const Step& step : steps) {
    for (const auto& [name, look] : step.looks) with_files.insert(name);
  }
  std::size_t tried = 0;
  for (const Step& step : steps) {
    for (const Sign& sign : step.signs) {
      const bool known = sign.device == kEveryDevice || devices.contains(sign.device);
      if (known && looked_at.contains(sign.name)) ++tried;
    }
    // A device that is there tries no rule; one that is missing does.
    const bool one_left = step.looks.size() < with_files.size();
    if (one_left && looked_at.contains("present")) ++tried;
    for (const auto& [name, look] : step.looks) {
      for (const SignReading& reading : look.readings) {
        const bool read = reading.value || !reading.error.empty();
        if (read && looked_at.contains(reading.sign)) ++tried;
      }
    }
  }
  return tried;
}

// Signs of devices that the recording does not have.
void NoteStrangers(const std::vector<Step>& steps, const std::set<std::string>& devices,
                   std::vector<std::string>& notes) {
  std::set<std::string> strangers;
  for (const Step& step : steps) {
    for (const Sign& sign : step.signs) {
      const bool known = sign.device == kEveryDevice || devices.contains(sign.device);
      if (known || !strangers.insert(sign.device).second) continue;
      notes.push_back(
          fmt::format("signs of {0} are passed over: neither {1} nor a directory names it; write "
                      "`devices: {{{0}: {{}}}}` into {1}",
                      Shown(sign.device), kRecordingFile));
    }
  }
}

// Files that rules of the operator's own look at, and that no device of the recording has.
void NoteUnshown(const std::vector<Step>& steps, const RuleTable& rules,
                 std::vector<std::string>& notes) {
  ShownSigns shown(rules);
  bool with_files = false;
  for (const Step& step : steps) {
    for (const Sign& sign : step.signs) shown.Take(sign);
    for (const auto& [name, look] : step.looks) {
      with_files = true;
      for (const Sign& sign : SignsOf(look, name)) shown.Take(sign);
    }
  }
  if (!with_files) return;
  for (const UnshownSign& sign : shown.Unshown()) {
    if (sign.source == UnshownSign::Source::kFile)
      notes.push_back(UnshownText(sign, "of the recording"));
  }
}

// Plays steps to an engine and notes what comes and goes.
class Player {
 public:
  Player(const RuleTable& rules, const std::set<std::string>& devices,
         const std::vector<RecordedDevice>& known)
      : rules_(rules), engine_(rules, {}) {
    engine_.SetDevices({devices.begin(), devices.end()}, AtTime(Duration::zero()));
    std::map<std::string, std::string> models;
    for (const RecordedDevice& device : known) models[device.name] = device.model;
    engine_.SetModels(models);
    for (const std::string& name : devices) {
      // A device that has no directory has no files to miss.
      const auto recorded = std::ranges::find(known, name, &RecordedDevice::name);
      if (recorded != known.end() && recorded->path.empty()) continue;
      devices_.emplace(name, DeviceSigns(rules, {name, name}));
    }
    names_.assign(devices.begin(), devices.end());
  }

  // `fresh`: the step begins with this look, and its events happen.
  void Look(const Step& step, Duration at, bool fresh) {
    std::vector<Sign> signs = fresh ? Begun(step, at) : Again(at);
    for (auto& [name, device] : devices_) {
      const auto look = step.looks.find(name);
      const DeviceLook shown = look == step.looks.end() ? DeviceLook() : look->second;
      device.Take(Due(name, shown, at), AtTime(at), signs);
    }
    for (const HealthChange& change : engine_.Evaluate(signs, AtTime(at)).changes) {
      NoteUnknown(change, at);
    }
    for (const std::string& name : names_) Note(name, at);
  }

  std::vector<ReplayEvent> TakeEvents() { return std::move(events_); }
  std::vector<DeviceHealth> Health() const { return engine_.Snapshot(); }

 private:
  // Signs that are not files, as the step brings them; readings stand until the next one.
  std::vector<Sign> Begun(const Step& step, Duration at) {
    std::vector<Sign> signs = step.signs;
    for (Sign& sign : signs) {
      sign.time = AtTime(at).wall;
      const SignSpec* spec = rules_.FindSign(sign.name);
      const bool reading = spec != nullptr && spec->kind != SignKind::kEvent;
      if (reading) readings_[{sign.device, sign.name}] = sign;
    }
    std::set<std::pair<std::string, std::string>> begun;
    for (const Sign& sign : signs) begun.insert({sign.device, sign.name});
    for (const Sign& sign : Again(at)) {
      if (!begun.contains({sign.device, sign.name})) signs.push_back(sign);
    }
    return signs;
  }
  // A probe would read them at each look and find them as they were.
  std::vector<Sign> Again(Duration at) {
    std::vector<Sign> signs;
    for (const auto& [of, sign] : readings_) {
      signs.push_back(sign);
      signs.back().time = AtTime(at).wall;
    }
    return signs;
  }
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

  // Notes, without a rule, that nobody knows how the device is, and that somebody does again.
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
      if (now.contains(rule)) continue;
      events_.push_back(EventOf(device, rule, finding, false, at));
      events_.back().superseded_by = engine_.SupersededBy(device, rule);
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
  std::vector<std::string> names_;
  std::map<std::string, DeviceSigns> devices_;                    // of those that have files
  std::map<std::pair<std::string, std::string>, Sign> readings_;  // that are no files
  std::map<std::string, std::map<std::string, Duration>> next_;   // by device and sign with `every`
  std::map<std::string, std::map<std::string, Finding>> holding_;  // by device and rule
  std::vector<ReplayEvent> events_;
};

std::string EndWords(const ReplayEvent& event) {
  return event.superseded_by.empty() ? " ended" : " superseded by " + event.superseded_by;
}

}  // namespace

StatusOr<Replay> ReplayRules(const SysfsFiles& files, const std::string& directory,
                             const RuleTable& rules) {
  ASSIGN_OR_RETURN(const std::vector<RecordedDevice> known, ReadDevices(files, directory));
  RecordingReader reader(files, directory, known, rules);
  ASSIGN_OR_RETURN(const std::vector<Step> steps, ReadSteps(reader, files, directory));
  std::vector<std::string> notes = reader.TakeNotes();
  std::set<std::string> devices;
  for (const RecordedDevice& device : known) devices.insert(device.name);
  for (const Step& step : steps) {
    for (const auto& [name, look] : step.looks) devices.insert(name);
  }
  NoteStrangers(steps, devices, notes);
  NoteUnshown(steps, rules, notes);
  if (notes.size() > kReplayNotesMax) {
    const std::size_t more = notes.size() - kReplayNotesMax;
    notes.resize(kReplayNotesMax);
    notes.push_back(fmt::format("and {} more", more));
  }
  Player player(rules, devices, known);
  const Duration length = steps.back().at + kReplayTail;
  player.Look(steps.front(), steps.front().at, true);
  std::size_t step = 0;
  for (Duration at = steps.front().at + kLookEvery; at <= length; at += kLookEvery) {
    // All steps since the last look are played, so that no event is lost.
    const std::size_t before = step;
    while (step + 1 < steps.size() && steps[step + 1].at <= at) {
      ++step;
      player.Look(steps[step], at, true);
    }
    if (step == before) player.Look(steps[step], at, false);
  }
  return Replay{.events = player.TakeEvents(),
                .length = length,
                .end = player.Health(),
                .notes = std::move(notes),
                .tried = Tried(steps, devices, rules)};
}

std::string ReplayText(const Replay& replay) {
  const auto seconds = [](Duration at) {
    return fmt::format("{:g}s", std::chrono::duration<double>(at).count());
  };
  std::string text;
  for (const ReplayEvent& event : replay.events) {
    text += fmt::format("{} {} ", seconds(event.at), event.device);
    if (!event.rule.empty()) text += event.rule + (event.began ? " began, " : EndWords(event));
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
