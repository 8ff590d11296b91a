#include "probes/command/command_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace galen::probes {
namespace {

// The command with its placeholders filled in, or the first that the device lacks.
struct FilledCommand {
  std::vector<std::string> command{};
  std::string missing{};
};

FilledCommand FillCommand(const std::vector<std::string>& command, const CheckedDevice& device) {
  FilledCommand filled;
  for (const std::string& word : command) {
    FilledText text = FillPlaceholders(word, device);
    filled.command.push_back(std::move(text.text));
    if (!text.missing.empty()) filled.missing = std::move(text.missing);
  }
  return filled;
}

std::string_view ResultOf(const CommandEnd& end, const CommandAnswer& answer) {
  if (!answer.value) return "unknown";
  return end.number == 0 ? "ok" : "problem";
}

}  // namespace

CommandProbe::CommandProbe(Parts parts) : parts_(parts) {
  parts_.metrics.DeclareCounter("galen_check_runs_total",
                                "Runs of commands that check devices, by check and result.");
  parts_.metrics.DeclareCounter("galen_check_seconds_total",
                                "Seconds that runs of checks took, by check.");
  parts_.metrics.DeclareCounter("galen_check_cpu_seconds_total",
                                "Processor time that runs of checks used, by check.");
  parts_.metrics.DeclareGauge("galen_checks_hanging",
                              "Commands that were killed and have not gone.");
  CountHanging();
}

void CommandProbe::SetDevices(const std::vector<CheckedDevice>& devices) {
  std::set<std::string> names;
  for (const CheckedDevice& device : devices) {
    names.insert(device.name);
    for (const SignSpec& sign : parts_.rules.signs) {
      if (sign.command) Add(sign, device);
    }
  }
  std::erase_if(checks_, [&](const auto& entry) { return !names.contains(entry.first.second); });
}

void CommandProbe::Add(const SignSpec& sign, const CheckedDevice& device) {
  const Key key{sign.name, device.name};
  const auto known = checks_.find(key);
  if (known != checks_.end() && known->second.device == device) return;
  FilledCommand filled = FillCommand(sign.command->command, device);
  Check check{.sign = &sign,
              .device = device,
              .request = {.command = std::move(filled.command),
                          .timeout = sign.command->timeout,
                          .cpu = sign.command->cpu},
              .pace = CheckPace(sign.command->every)};
  if (!filled.missing.empty()) {
    // Without the placeholder's value no command would be about this device.
    check.request.command.clear();
    Keep(check, {.error = fmt::format("the device has no {{{}}}", filled.missing)});
  }
  checks_.insert_or_assign(key, std::move(check));
}

StatusOr<std::vector<Sign>> CommandProbe::Observe() {
  for (auto& [key, check] : checks_) NoteHanging(check);
  CountHanging();
  BeginDue();
  std::vector<Sign> signs;
  for (auto& [key, check] : checks_) {
    if (check.last) signs.push_back(Show(check));
  }
  return signs;
}

void CommandProbe::BeginDue() {
  const Time now = parts_.loop.Now();
  std::map<std::string, int> running;  // by sign
  int all = 0;
  std::vector<std::pair<Time, Key>> due;
  for (const auto& [key, check] : checks_) {
    if (check.run != 0) {
      running[key.first] += check.hangs ? 0 : 1;
      all += check.hangs ? 0 : 1;
    } else if (!check.request.command.empty() && check.pace.due() <= now) {
      due.emplace_back(check.pace.due(), key);
    }
  }
  // Who waits longest is first, so that a check of many devices reaches all of them.
  std::ranges::sort(due);
  for (const auto& [when, key] : due) {
    if (running[key.first] >= kRunsOfCheckMax) continue;
    if (all >= kRunsMax) return;
    ++running[key.first];
    ++all;
    Begin(key, checks_.at(key));
  }
}

void CommandProbe::Begin(const Key& key, Check& check) {
  check.run = ++runs_;
  check.started = parts_.loop.Now();
  check.pace.Begin(check.started);
  parts_.runner.Run(check.request, [this, alive = Liveness::Watch(liveness_), key,
                                    run = check.run](const CommandEnd& end) {
    if (alive.alive()) OnEnd(key, run, end);
  });
}

void CommandProbe::OnEnd(const Key& key, std::uint64_t run, const CommandEnd& end) {
  const auto it = checks_.find(key);
  // The device has left meanwhile, or is another.
  if (it == checks_.end() || it->second.run != run) return;
  Check& check = it->second;
  check.run = 0;
  check.hangs = false;
  CountHanging();
  const CommandAnswer answer = AnswerOf(*check.sign, end);
  check.pace.End(end.cpu, end.how == CommandEnd::How::kTimedOut);
  Count(check, end, answer);
  check.report.result = ResultOf(end, answer);
  check.report.last_run = parts_.loop.WallNow();
  check.report.took = parts_.loop.Now() - check.started;
  check.report.cpu = end.cpu;
  check.report.cpu_of_all += end.cpu;
  ++check.report.runs;
  Keep(check, answer);
  // The next run counts from this one's begin, so it may be due already.
  BeginDue();
  if (sink_ != nullptr) sink_->OnSigns({Show(check)});
}

std::vector<CommandReport> CommandProbe::Reports() const {
  using State = CommandReport::State;
  std::vector<CommandReport> reports;
  for (const auto& [key, check] : checks_) {
    CommandReport report = check.report;
    std::tie(report.check, report.device) = key;
    report.every = check.sign->command->every;
    report.interval = check.pace.interval();
    if (check.request.command.empty()) {
      report.state = State::kOff;
    } else if (check.run != 0) {
      report.state = check.hangs ? State::kHanging : State::kRunning;
    }
    if (check.last) {
      report.says = check.last->error.empty() ? check.last->detail : check.last->error;
      // A killed run that hangs has not ended, but its error is known.
      if (!check.last->error.empty()) report.result = "unknown";
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

Sign CommandProbe::Show(Check& check) {
  Sign shown = *check.last;
  check.last->look = Sign::Look::kAgain;
  return shown;
}

void CommandProbe::NoteHanging(Check& check) {
  if (check.run == 0 || check.hangs) return;
  const Duration waited = parts_.loop.Now() - check.started;
  if (waited < check.request.timeout + kKillGrace) return;
  check.hangs = true;
  Keep(check,
       {.error = fmt::format("{} was killed after {:g} s and has not gone: it hangs in the "
                             "kernel",
                             check.request.command.front(), SecondsOf(check.request.timeout))});
}

void CommandProbe::CountHanging() {
  const auto hanging =
      std::ranges::count_if(checks_, [](const auto& entry) { return entry.second.hangs; });
  parts_.metrics.Set("galen_checks_hanging", {}, static_cast<double>(hanging));
}

void CommandProbe::Count(const Check& check, const CommandEnd& end, const CommandAnswer& answer) {
  const std::string& name = check.sign->name;
  parts_.metrics.Add("galen_check_runs_total",
                     {{"check", name}, {"result", std::string(ResultOf(end, answer))}});
  parts_.metrics.Add("galen_check_seconds_total", {{"check", name}},
                     SecondsOf(parts_.loop.Now() - check.started));
  parts_.metrics.Add("galen_check_cpu_seconds_total", {{"check", name}}, SecondsOf(end.cpu));
}

void CommandProbe::Keep(Check& check, const CommandAnswer& answer) {
  const bool was_unknown = check.last && !check.last->error.empty();
  check.last = MakeSign(check, answer);
  if (was_unknown == !answer.error.empty()) return;
  if (was_unknown) {
    parts_.log.Info("a check answers again",
                    {{"device", check.device.name}, {"check", check.sign->name}});
  } else {
    parts_.log.Warning(
        "a check gave no answer, its device is unknown",
        {{"device", check.device.name}, {"check", check.sign->name}, {"error", answer.error}});
  }
}

Sign CommandProbe::MakeSign(const Check& check, const CommandAnswer& answer) const {
  Sign sign;
  sign.device = check.device.name;
  sign.name = check.sign->name;
  sign.unit = check.sign->unit;
  sign.time = parts_.loop.WallNow();
  sign.look = Sign::Look::kSeldom;
  sign.error = answer.error;
  if (!answer.value) return sign;
  sign.value = *answer.value;
  sign.detail = answer.detail;
  sign.raw = fmt::format("command {}: {} ({})", check.request.command.front(), answer.detail,
                         NumberText(*answer.value));
  return sign;
}

}  // namespace galen::probes
