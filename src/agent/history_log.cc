#include "agent/history_log.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <utility>

namespace galen::agent {
namespace {

constexpr std::string_view kAgent = "galen-agent";

std::int64_t Millis(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

// "Healthy → Unhealthy, XidGpuLost": what `galen why` shows of a change.
std::string TextOf(const HealthChange& change) {
  std::string text =
      fmt::format("{} → {}", ToString(change.before.state), ToString(change.after.state));
  if (!change.after.cause.code.empty()) text += ", " + change.after.cause.code;
  return text;
}

// Whose word it was: a driver's report, or our own conclusion from its silence.
std::string SourceOf(const HealthChange& change, std::uint64_t report) {
  const std::string& code = change.after.cause.code;
  const bool silence = code == cause_code::kDriverSilent || code == cause_code::kDriverGone ||
                       code == cause_code::kNotReported;
  if (silence || report == 0) return std::string(kAgent);
  return fmt::format("{}, report {}", change.after.id.driver, report);
}

Step StepOf(const history::Record& record) {
  return {.time = record.time,
          .kind = std::string(history::ToString(record.kind)),
          .text = record.text,
          .source = record.source,
          // A driver's record is of no single device.
          .device = record.device.device.empty() ? DeviceId{} : record.device};
}

}  // namespace

void HistoryLog::Changed(const HealthChange& change, const DeviceFacts& facts, std::uint64_t report,
                         WallTime now) {
  const std::string incident = IncidentOf(change);
  // Unknown is our own conclusion from silence: the facts are still those of the last report.
  if (!facts.sign.empty() && change.after.state != HealthState::kUnknown) {
    store_.Append({.time = change.after.since,
                   .kind = history::Kind::kSign,
                   .device = change.after.id,
                   .serial = facts.serial,
                   .text = facts.sign,
                   .source = change.after.id.driver,
                   .incident = incident});
  }
  store_.Append({.time = now,
                 .kind = history::Kind::kChange,
                 .device = change.after.id,
                 .serial = facts.serial,
                 .change = change,
                 .text = TextOf(change),
                 .source = SourceOf(change, report),
                 .incident = incident});
}

void HistoryLog::Kept(const std::vector<HealthChange>& changes, WallTime now) {
  for (const HealthChange& change : changes) {
    store_.Append({.time = now,
                   .kind = history::Kind::kKept,
                   .device = change.after.id,
                   .text = "journal",
                   .source = std::string(kAgent),
                   .incident = LastIncidentOf(change.after.id)});
  }
}

void HistoryLog::Told(const PodRef& pod, const DeviceHealth& health, Duration after_sign,
                      WallTime now) {
  store_.Append(
      {.time = now,
       .kind = history::Kind::kTold,
       .device = health.id,
       .pod = pod,
       .text = fmt::format("Pod status and annotation ({} ms after sign)", Millis(after_sign)),
       .source = std::string(kAgent),
       .incident = LastIncidentOf(health.id)});
}

void HistoryLog::Crashed(const Crash& crash, const std::vector<DeviceId>& devices) {
  std::string incident;
  for (const DeviceId& device : devices) {
    // The first device that has one: a crash is one line, and the devices of a Pod mostly fail
    // together.
    if (incident.empty()) incident = LastIncidentOf(device);
  }
  store_.Append({.time = crash.time,
                 .kind = history::Kind::kCrash,
                 .pod = crash.pod,
                 .text = crash.text,
                 .source = "container runtime",
                 .incident = incident});
}

// A record of a driver is filed under a device of it without a name.
void HistoryLog::DriverConnected(const std::string& driver, WallTime now) {
  store_.Append({.time = now,
                 .kind = history::Kind::kDriverConnected,
                 .device = {driver, "", ""},
                 .text = fmt::format("driver {} is connected", driver),
                 .source = std::string(kAgent)});
}

void HistoryLog::DriverLost(const std::string& driver, const std::string& why, WallTime now) {
  store_.Append({.time = now,
                 .kind = history::Kind::kDriverLost,
                 .device = {driver, "", ""},
                 .text = why,
                 .source = std::string(kAgent)});
}

void HistoryLog::Forget(const DeviceId& device, const std::string& why, WallTime now) {
  incidents_.erase(device);
  store_.Append({.time = now,
                 .kind = history::Kind::kForgotten,
                 .device = device,
                 .text = why,
                 .source = std::string(kAgent)});
}

std::vector<DeviceHealth> HistoryLog::Devices() const {
  std::vector<DeviceHealth> devices;
  for (const auto& [id, health] : store_.Latest()) devices.push_back(health);
  return devices;
}

std::vector<Step> HistoryLog::StepsOf(const ObjectKey& pod,
                                      const std::vector<DeviceId>& devices) const {
  std::map<std::uint64_t, history::Record> records;
  const auto add = [&](std::vector<history::Record> some) {
    for (history::Record& record : some) records.emplace(record.sequence, std::move(record));
  };
  add(store_.OfPod(pod));
  std::set<std::string> drivers;
  for (const DeviceId& device : devices) {
    add(store_.OfDevice(device));
    if (drivers.insert(device.driver).second) add(store_.OfDevice({device.driver, "", ""}));
  }
  // A sign is written when its change arrives, and a crash when the Pod tells of it: by time, and
  // what is of one time in the order of writing.
  std::multimap<WallTime, Step> by_time;
  for (const auto& [sequence, record] : records) by_time.emplace(record.time, StepOf(record));
  std::vector<Step> steps;
  for (auto& [time, step] : by_time) steps.push_back(std::move(step));
  // The oldest go: what happened last is what is asked for.
  if (steps.size() > kStepsMax) {
    steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(kStepsMax));
  }
  return steps;
}

std::string HistoryLog::IncidentOf(const HealthChange& change) {
  const DeviceId& id = change.after.id;
  // From well to anything else, or a device's first word. From one fault to another it is the same
  // incident.
  const bool begins = change.before.state == HealthState::kHealthy ||
                      change.before.cause.code == cause_code::kNotReported;
  std::string& incident = incidents_[id];
  if (begins || incident.empty()) {
    // Readable. Without driver and pool: devices of one name that fail in the same millisecond
    // share it.
    incident = fmt::format("{}-{}", id.device, Millis(change.after.since.time_since_epoch()));
  }
  return incident;
}

const std::string& HistoryLog::LastIncidentOf(const DeviceId& device) {
  static const std::string kNone;
  const auto it = incidents_.find(device);
  return it == incidents_.end() ? kNone : it->second;
}

// A recovery after a restart belongs to what happened before it.
void HistoryLog::RememberIncidents() {
  for (history::Record& record : store_.Since(0)) {
    if (record.kind == history::Kind::kChange) {
      incidents_[record.device] = std::move(record.incident);
    }
  }
}

}  // namespace galen::agent
