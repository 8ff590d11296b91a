#include "bin/health_judge.h"

#include <algorithm>
#include <utility>

namespace galen::device_driver {
namespace {

// The engine's part of the state file; the kernel log has another.
constexpr std::string_view kSection = "findings";
// A debounce that ends is looked at with a fresh reading, but never in a tight circle.
constexpr Duration kLookAgainLeast = std::chrono::milliseconds(50);

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

HealthJudge::HealthJudge(Parts parts, probes::RuleEngine::Options options,
                         std::function<void()> on_change)
    : parts_(parts), engine_(parts.rules, std::move(options)), on_change_(std::move(on_change)) {
  parts_.metrics.DeclareCounter(
      "galen_driver_events_total",
      "Events that devices showed, by sign and by the code of their rule.");
  parts_.metrics.DeclareCounter("galen_driver_read_errors_total",
                                "Signs that could not be read, by sign; \"all\" is a whole look.");
  parts_.metrics.DeclareCounter("galen_driver_findings_total",
                                "Devices that went into a state, by state and code.");
}

void HealthJudge::SetDevices(const std::vector<std::string>& names) {
  engine_.SetDevices(names, Present());
  // Only the first inventory: what a device showed earlier in this process is in the engine.
  if (std::exchange(restored_, true)) return;
  engine_.Restore(parts_.state.Get(kSection), Present());
  // No signs, but time has passed since the state was written: debounces may have ended.
  Take(engine_.Evaluate({}, Present()));
}

void HealthJudge::OnSigns(std::vector<probes::Sign> signs) {
  const probes::Evaluation evaluation = engine_.Evaluate(signs, Present());
  Take(evaluation);
  if (!evaluation.changes.empty()) on_change_();
}

void HealthJudge::Observe(const StatusOr<std::vector<probes::Sign>>& observed) {
  if (!observed.ok()) {
    parts_.metrics.Add("galen_driver_read_errors_total", {{"sign", "all"}});
    return Take(engine_.ObserveFailed(observed.status(), Present()));
  }
  for (const probes::Sign& sign : *observed) {
    if (!sign.error.empty()) {
      parts_.metrics.Add("galen_driver_read_errors_total", {{"sign", sign.name}});
    }
  }
  Take(engine_.Evaluate(*observed, Present()));
}

void HealthJudge::Take(const probes::Evaluation& evaluation) {
  for (const probes::SignRecord& record : evaluation.records) {
    parts_.metrics.Add("galen_driver_events_total",
                       {{"sign", record.sign.name}, {"code", record.cause.code}});
    parts_.log.Info("device showed an event", {{"device", record.sign.device},
                                               {"event", record.cause.message},
                                               {"sign", record.sign.raw},
                                               {"rule", record.rule}});
  }
  for (const HealthChange& change : evaluation.changes) {
    parts_.metrics.Add("galen_driver_findings_total", {{"state", ToString(change.after.state)},
                                                       {"code", change.after.cause.code}});
    parts_.log.Info("device changed", {{"device", change.after.id.device},
                                       {"from", ToString(change.before.state)},
                                       {"to", ToString(change.after.state)},
                                       {"cause", change.after.cause.message}});
  }
  // Kept before anyone is told, so that a crash never forgets what was said.
  parts_.state.Set(kSection, engine_.Save());
  static_cast<void>(parts_.state.Flush().ok());  // it tells a full disk itself
  WaitForTime();
}

void HealthJudge::WaitForTime() {
  // Whatever was waited for may have changed.
  timer_.Cancel();
  const std::optional<Time> due = engine_.NextDue(Present());
  if (!due) return;
  const Time when = std::max(*due, parts_.loop.Now() + kLookAgainLeast);
  timer_ = parts_.loop.At(when, [this] { on_change_(); });
}

std::map<std::string, std::string> HealthJudge::Unhealthy() const {
  std::map<std::string, std::string> codes;
  for (const DeviceHealth& health : engine_.Snapshot()) {
    if (health.state == HealthState::kUnhealthy) codes[health.id.device] = health.cause.code;
  }
  return codes;
}

void HealthJudge::Report(HealthWriter& writer) const {
  for (const DeviceHealth& health : engine_.Snapshot()) {
    const std::string& device = health.id.device;
    HealthCause cause = CauseOf(health, engine_.RawSign(device));
    switch (health.state) {
      case HealthState::kHealthy:
        writer.Healthy(device);
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
