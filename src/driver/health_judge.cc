// Tested by device_driver_test.cc too; what active checks say, by tests/e2e/device_check_test.cc.
#include <algorithm>
#include <set>
#include <utility>

#include "driver/device_driver.h"
#include "probes/active_check/check_results.h"

namespace galen::device_driver {
namespace {

// The engine's section of the state file; the kernel log has another.
constexpr std::string_view kSection = "findings";
// The end of a debounce is decided with a fresh reading, but with at least this pause.
constexpr Duration kLookAgainLeast = std::chrono::milliseconds(50);
// A fault may have echoes (XID 31, then 45), and the first one says more: others within this time
// do not replace it.
constexpr Duration kNoted = std::chrono::seconds(5);
// As the agent's, of what Pods show.
constexpr std::string_view kPublishedLate = "galen_published_before_kept_total";

// The public SDK has types of its own, so that drivers include none of ours.
HealthCause::Owner OwnerOf(FaultOwner owner) {
  switch (owner) {
    case FaultOwner::kNobody:
      return HealthCause::Owner::kUnsaid;
    case FaultOwner::kHardware:
      return HealthCause::Owner::kHardware;
    case FaultOwner::kDriver:
      return HealthCause::Owner::kDriver;
    case FaultOwner::kApplication:
      return HealthCause::Owner::kApplication;
    case FaultOwner::kPlatform:
      return HealthCause::Owner::kPlatform;
  }
  GALEN_UNREACHABLE();
}

HealthCause CauseOf(const DeviceHealth& health, std::string sign) {
  HealthCause cause;
  cause.code = health.cause.code;
  cause.message = health.cause.message;
  cause.value = health.cause.value;
  cause.threshold = health.cause.threshold;
  cause.unit = health.cause.unit;
  cause.owner = OwnerOf(health.cause.owner);
  cause.sign = std::move(sign);
  cause.seen = health.since;
  return cause;
}

}  // namespace

HealthJudge::HealthJudge(Edges edges, probes::RuleEngine::Options options, Callbacks callbacks)
    : edges_(edges), engine_(edges.rules, std::move(options)), callbacks_(std::move(callbacks)) {
  edges_.metrics.DeclareCounter(
      "galen_driver_events_total",
      "Events that devices showed, by sign and by the code of their rule.");
  edges_.metrics.DeclareCounter("galen_driver_read_errors_total",
                                "Signs that could not be read, by sign; \"all\" is a whole look.");
  edges_.metrics.DeclareCounter("galen_driver_findings_total",
                                "Devices that went into a state, by state and code.");
  edges_.metrics.DeclareCounter(kPublishedLate,
                                "Changes that were reported before the state file had them, "
                                "because the disk hung or failed.");
}

void HealthJudge::SetDevices(const std::vector<std::string>& names,
                             const std::map<std::string, std::string>& hardware) {
  engine_.SetDevices(names, Present());
  engine_.SetHardware(hardware);
  const std::set<std::string, std::less<>> present(names.begin(), names.end());
  const auto gone = [&present](const auto& entry) { return !present.contains(entry.first); };
  std::erase_if(held_, gone);
  std::erase_if(raws_, gone);
  // Only the first inventory: what a device showed earlier in this process is in the engine.
  if (std::exchange(restored_, true)) return;
  engine_.Restore(edges_.state.Get(kSection), Present());
  // No signs, but time has passed since the state was written: debounces may have ended.
  Take(engine_.Evaluate({}, Present()));
}

void HealthJudge::SetRules(const probes::RuleTable& rules) {
  if (Take(engine_.SetTable(rules, Present()))) callbacks_.on_verdict();
}

void HealthJudge::NoteSigns(const std::vector<probes::Sign>& signs) {
  if (callbacks_.on_signs != nullptr) callbacks_.on_signs(signs);
  for (const probes::Sign& sign : signs) {
    if (sign.error.empty()) continue;
    edges_.metrics.Add("galen_driver_read_errors_total", {{"sign", sign.name}});
  }
}

void HealthJudge::TakePassed(const std::vector<probes::Sign>& signs) {
  for (const probes::Sign& sign : signs) {
    if (sign.name != probes::kActiveCheckSign) continue;
    passed_.erase(sign.device);
    if (probes::NumberOf(sign) != 0 || sign.detail.empty()) continue;
    passed_[sign.device] = {
        .code = "ActiveCheckPassed", .message = sign.detail, .sign = sign.raw, .seen = sign.time};
  }
}

void HealthJudge::OnSigns(std::vector<probes::Sign> signs) {
  NoteSigns(signs);
  if (Take(engine_.Evaluate(signs, Present()))) callbacks_.on_verdict();
}

void HealthJudge::Observe(const StatusOr<std::vector<probes::Sign>>& observed) {
  if (!observed.ok()) {
    edges_.metrics.Add("galen_driver_read_errors_total", {{"sign", "all"}});
    Take(engine_.ObserveFailed(observed.status(), Present()));
    return;
  }
  NoteSigns(*observed);
  TakePassed(*observed);
  Take(engine_.Evaluate(*observed, Present()));
}

bool HealthJudge::Take(const probes::Evaluation& evaluation) {
  bool noted = false;
  for (const probes::SignRecord& record : evaluation.records) {
    edges_.metrics.Add("galen_driver_events_total",
                       {{"sign", record.sign.name}, {"code", record.cause.code}});
    edges_.log.Info("device showed an event", {{"device", record.sign.device},
                                               {"event", record.cause.message},
                                               {"sign", record.sign.raw},
                                               {"rule", record.rule}});
    noted = TakeNote(record) || noted;
  }
  for (const HealthChange& change : evaluation.changes) {
    edges_.metrics.Add("galen_driver_findings_total", {{"state", ToString(change.after.state)},
                                                       {"code", change.after.cause.code}});
    edges_.log.Info("device changed", {{"device", change.after.id.device},
                                       {"from", ToString(change.before.state)},
                                       {"to", ToString(change.after.state)},
                                       {"cause", change.after.cause.message}});
  }
  const bool released = Keep(evaluation.changes);
  WaitForTime();
  return noted || released;
}

// Stored before it is published, so that a crash never forgets what was published; but a disk that
// hangs or fails delays nobody for longer: the record may be lost, what is published is true.
bool HealthJudge::Keep(const std::vector<HealthChange>& changes) {
  edges_.state.Set(kSection, engine_.Save());
  if (changes.empty()) {
    edges_.state.Flush();
    return false;
  }
  const std::uint64_t write = ++writes_;
  std::vector<Verdict> after;
  for (const HealthChange& change : changes) {
    const std::string& device = change.after.id.device;
    after.push_back({change.after, engine_.RawSign(device)});
    const std::string before = std::exchange(raws_[device], after.back().raw);
    // The first word on a device waits for nothing: a process that ends now looks again.
    if (change.before.cause.code == probes::cause_code::kNotProbed) continue;
    held_.try_emplace(device, Held{{change.before, before}, write}).first->second.last = write;
  }
  keeping_ = true;
  edges_.state.Flush(
      [this, write, after = std::move(after), watch = Liveness::Watch(liveness_)](bool on_disk) {
        if (!watch.alive()) return;
        if (!on_disk) edges_.metrics.Add(kPublishedLate, {}, static_cast<double>(after.size()));
        Release(write, after);
        if (!keeping_) callbacks_.on_verdict();
      });
  keeping_ = false;
  return std::ranges::any_of(changes, [this](const HealthChange& change) {
    return !held_.contains(change.after.id.device);
  });
}

void HealthJudge::Release(std::uint64_t write, const std::vector<Verdict>& after) {
  for (const Verdict& verdict : after) {
    const auto held = held_.find(verdict.health.id.device);
    // The device was forgotten since.
    if (held == held_.end() || write < held->second.first) continue;
    held->second.shown = verdict;
    if (write == held->second.last) held_.erase(held);
  }
}

bool HealthJudge::TakeNote(const probes::SignRecord& record) {
  if (record.cause.owner != FaultOwner::kApplication) return false;
  const Time now = edges_.loop.Now();
  const auto [it, fresh] = notes_.try_emplace(record.sign.device);
  Note& note = it->second;
  if (!fresh && now - note.taken < kNoted) return false;
  note = {.cause = record.cause, .raw = record.sign.raw, .seen = record.sign.time, .taken = now};
  return true;
}

HealthCause HealthJudge::NoteOn(const std::string& device, HealthCause well) const {
  const auto it = notes_.find(device);
  const auto passed = passed_.find(device);
  if (it == notes_.end()) return passed == passed_.end() ? well : passed->second;
  DeviceHealth noted;
  noted.cause = it->second.cause;
  noted.since = it->second.seen;
  return CauseOf(noted, it->second.raw);
}

void HealthJudge::WaitForTime() {
  // The next change by time may be another one now.
  timer_.Cancel();
  const Time now = edges_.loop.Now();
  std::erase_if(notes_, [&](const auto& note) { return now - note.second.taken >= kNoted; });
  std::optional<Time> due = engine_.NextDue(Present());
  for (const auto& [device, note] : notes_) {
    due = due ? std::min(*due, note.taken + kNoted) : note.taken + kNoted;
  }
  if (!due) return;
  const Time when = std::max(*due, edges_.loop.Now() + kLookAgainLeast);
  timer_ = edges_.loop.At(when, [this] { callbacks_.look_again(); });
}

std::vector<HealthJudge::Verdict> HealthJudge::Shown() const {
  std::vector<Verdict> shown;
  for (DeviceHealth& health : engine_.Snapshot()) {
    const auto held = held_.find(health.id.device);
    std::string raw = held == held_.end() ? engine_.RawSign(health.id.device) : "";
    shown.push_back(held == held_.end() ? Verdict{std::move(health), std::move(raw)}
                                        : held->second.shown);
  }
  return shown;
}

std::map<std::string, DeviceHealth> HealthJudge::Verdicts() const {
  std::map<std::string, DeviceHealth> verdicts;
  for (Verdict& verdict : Shown()) {
    std::string device = verdict.health.id.device;
    verdicts.emplace(std::move(device), std::move(verdict.health));
  }
  return verdicts;
}

void HealthJudge::Report(HealthWriter& writer) const {
  for (const auto& [health, raw] : Shown()) {
    const std::string& device = health.id.device;
    HealthCause cause = CauseOf(health, raw);
    switch (health.state) {
      case HealthState::kHealthy:
        writer.Healthy(device, NoteOn(device, std::move(cause)));
        break;
      case HealthState::kUnknown:
        writer.Unknown(device, std::move(cause));
        break;
      case HealthState::kDegraded:
        writer.Degraded(device, health.share, std::move(cause));
        break;
      case HealthState::kUnhealthy:
        writer.Unhealthy(device, std::move(cause));
        break;
    }
  }
}

}  // namespace galen::device_driver
