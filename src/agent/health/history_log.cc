#include "agent/health/history_log.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <utility>

namespace galen::agent {
namespace {

constexpr std::string_view kAgent = "galen-agent";
// What the agent did itself is filed under this driver: no driver can have a name with a slash.
const DeviceId kAgentItself{"galen.dev/agent", "", ""};

std::int64_t Millis(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

// "Healthy → Unhealthy, XidGpuLost": what `galen why` shows of a change.
std::string ShownAs(const HealthChange& change) {
  const bool stays_well =
      change.before.state == HealthState::kHealthy && change.after.state == HealthState::kHealthy;
  const std::string &was = change.before.cause.code, &is = change.after.cause.code;
  // A program's fault, noted on a healthy device, or the end of that note.
  if (stays_well && !is.empty()) return "stays Healthy, " + is;
  if (stays_well && !was.empty()) return "stays Healthy, " + was + " is over";
  std::string text =
      fmt::format("{} → {}", ToString(change.before.state), ToString(change.after.state));
  if (!change.after.cause.code.empty()) text += ", " + change.after.cause.code;
  return text;
}

// "to this Pod: Unhealthy, XidGpuLost".
std::string ShownAs(const Assignment& assignment) {
  const DeviceHealth& health = assignment.health;
  std::string text = fmt::format("{}: {}", assignment.found ? "found on this Pod" : "to this Pod",
                                 ToString(health.state));
  if (!health.cause.code.empty()) text += ", " + health.cause.code;
  return text;
}

// Who says so: a driver's report, or our own conclusion from its silence.
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
          .device = record.device.device.empty() ? DeviceId{} : record.device,
          .message = record.change ? record.change->after.cause.message : ""};
}

// What was published of a device on other Pods than `pod`, and when they got it, is not part of its
// story.
void AddTo(std::map<std::uint64_t, history::Record>& records, std::vector<history::Record> some,
           const PodRef& pod) {
  for (history::Record& record : some) {
    if (record.pod && record.pod->key != pod.key) continue;
    if (record.pod && !pod.uid.empty() && record.pod->uid != pod.uid) continue;
    records.emplace(record.sequence, std::move(record));
  }
}

// WallTime::max() when there are none.
WallTime FirstTimeOf(const std::map<std::uint64_t, history::Record>& records) {
  WallTime first = WallTime::max();
  for (const auto& [sequence, record] : records) first = std::min(first, record.time);
  return first;
}

// When the Pod of these records got the device; the first record's time if the Pod is older than
// the journal.
WallTime AssignedAt(const std::map<std::uint64_t, history::Record>& records,
                    const DeviceId& device) {
  for (const auto& [sequence, record] : records) {
    const bool assigned = record.kind == history::Kind::kAssigned;
    if (assigned && record.device == device) return record.time;
  }
  return FirstTimeOf(records);
}

std::vector<DeviceHealth> ListOf(const std::map<DeviceId, DeviceHealth>& healths) {
  std::vector<DeviceHealth> list;
  for (const auto& [id, health] : healths) list.push_back(health);
  return list;
}

// The ids under which records of these devices' drivers are filed.
std::set<DeviceId> DriversOf(const std::vector<DeviceId>& devices) {
  std::set<DeviceId> drivers;
  for (const DeviceId& device : devices) drivers.insert({device.driver, "", ""});
  return drivers;
}

}  // namespace

void HistoryLog::Changed(const HealthChange& change, const DeviceFacts& facts, std::uint64_t report,
                         WallTime now) {
  const std::string incident = IncidentOf(change);
  // Unknown is our own conclusion from silence: the facts are still those of the last report.
  const bool has_sign = !facts.sign.empty() && change.after.state != HealthState::kUnknown;
  const Newest& newest = newest_[change.after.id];
  // A driver that reports again repeats what it found: the sign is in the line already.
  const bool repeated = newest.sign == facts.sign && newest.sign_time == change.after.since;
  if (has_sign && !repeated) {
    Append({.time = change.after.since,
            .kind = history::Kind::kSign,
            .device = change.after.id,
            .serial = facts.serial,
            .text = facts.sign,
            .source = change.after.id.driver,
            .incident = incident});
  }
  Append({.time = now,
          .kind = history::Kind::kChange,
          .device = change.after.id,
          .serial = facts.serial,
          .change = change,
          .text = ShownAs(change),
          .source = SourceOf(change, report),
          .incident = incident});
}

void HistoryLog::Kept(const std::vector<HealthChange>& changes, OnDisk when, WallTime now) {
  const bool late = when == OnDisk::kAfterPublished;
  for (const HealthChange& change : changes) {
    store_.Append({.time = now,
                   .kind = history::Kind::kKept,
                   .device = change.after.id,
                   .text = late ? "journal, after it was published" : "journal",
                   .source = std::string(kAgent),
                   .late = late,
                   .incident = LastIncidentOf(change.after.id)});
  }
}

void HistoryLog::Published(const PodRef& pod, const DeviceHealth& health, const Publication& how,
                           WallTime now) {
  store_.Append({.time = now,
                 .kind = history::Kind::kPublished,
                 .device = health.id,
                 .pod = pod,
                 .text = fmt::format("Pod status{} ({})", how.annotated ? " and annotation" : "",
                                     Delay(pod, health.id, how.after_sign, now)),
                 .source = std::string(kAgent),
                 .incident = IncidentOfHolder(health.id)});
}

bool HistoryLog::Assigned(const Assignment& assignment, WallTime now) {
  const DeviceHealth& health = assignment.health;
  for (const history::Record& record : store_.OfPod(assignment.pod)) {
    if (record.kind == history::Kind::kAssigned && record.device == health.id) return false;
  }
  Append({.time = now,
          .kind = history::Kind::kAssigned,
          .device = health.id,
          .pod = assignment.pod,
          .text = ShownAs(assignment),
          .source = std::string(kAgent),
          // A Pod that is given a device with a fault joins its incident; an incident that is over
          // does not concern it.
          .incident = health.state == HealthState::kHealthy ? "" : LastIncidentOf(health.id)});
  return true;
}

void HistoryLog::Crashed(const Crash& crash, const std::vector<DeviceId>& devices) {
  std::string incident;
  for (const DeviceId& device : devices) {
    // The first device that has one: a crash is one line, and the devices of a Pod mostly fail
    // together.
    if (incident.empty()) incident = IncidentOfHolder(device);
  }
  store_.Append({.time = crash.time,
                 .kind = history::Kind::kCrash,
                 .pod = crash.pod,
                 .text = crash.text,
                 .source = "container runtime",
                 .incident = incident});
}

// A record of a driver itself names no pool and no device.
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

void HistoryLog::AgentStarted(WallTime now) {
  NoteAgent(history::Kind::kAgentStarted,
            has_gaps()
                ? "the agent was started; part of its journal was lost, so that steps before "
                  "this may be missing"
                : "the agent was started",
            now);
}

void HistoryLog::AgentStopped(WallTime now) {
  NoteAgent(history::Kind::kAgentStopped, "the agent was stopped", now);
}

void HistoryLog::NoteAgent(history::Kind kind, std::string_view text, WallTime now) {
  store_.Append({.time = now,
                 .kind = kind,
                 .device = kAgentItself,
                 .text = std::string(text),
                 .source = std::string(kAgent)});
}

void HistoryLog::Forget(const DeviceId& device, const std::string& why, WallTime now) {
  newest_.erase(device);
  store_.Append({.time = now,
                 .kind = history::Kind::kForgotten,
                 .device = device,
                 .text = why,
                 .source = std::string(kAgent)});
}

std::vector<DeviceHealth> HistoryLog::Devices() const { return ListOf(store_.Latest()); }

std::vector<DeviceHealth> HistoryLog::BeforeSilence() const {
  return ListOf(store_.BeforeSilence());
}

std::vector<Step> HistoryLog::StepsOf(const PodRef& pod,
                                      const std::vector<DeviceId>& devices) const {
  Records records = RecordsOf(pod);
  for (const DeviceId& device : devices) AddTo(records, store_.OfDevice(device), pod);
  for (const DeviceId& driver : DriversOf(devices)) AddTo(records, store_.OfDevice(driver), pod);
  return StepsFrom(std::move(records), WallTime::max());
}

std::vector<Step> HistoryLog::StepsOfEnded(const PodRef& pod, const std::vector<DeviceId>& devices,
                                           const Ending& ending) const {
  Records records = RecordsOf(pod);
  const Records own = records;
  const auto add = [&](const DeviceId& id, WallTime from, WallTime until) {
    std::vector<history::Record> some = store_.OfDevice(id);
    std::erase_if(some, [&](const history::Record& record) {
      return record.time < from || record.time > until;
    });
    AddTo(records, std::move(some), pod);
  };
  for (const DeviceId& device : devices) add(device, AssignedAt(own, device), ending.had_devices);
  for (const DeviceId& driver : DriversOf(devices)) add(driver, FirstTimeOf(own), ending.until);
  return StepsFrom(std::move(records), ending.until);
}

HistoryLog::Records HistoryLog::RecordsOf(const PodRef& pod) const {
  Records records;
  AddTo(records, pod.uid.empty() ? store_.OfPod(pod.key) : store_.OfPod(pod), pod);
  return records;
}

std::vector<Step> HistoryLog::StepsFrom(Records records, WallTime until) const {
  // Adds what the agent did itself between the steps; what it did before the first does not belong
  // to them.
  if (!records.empty()) {
    const WallTime first = FirstTimeOf(records);
    std::vector<history::Record> own = store_.OfDevice(kAgentItself);
    const std::uint64_t first_written = records.begin()->first;
    std::erase_if(own, [&](const history::Record& record) {
      const bool before =
          record.time < first || (record.time == first && record.sequence < first_written);
      return before || record.time > until;
    });
    for (history::Record& record : own) records.emplace(record.sequence, std::move(record));
  }
  // By time, then in the order of writing: a sign is written only when its change arrives, and a
  // crash when the Pod shows it.
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
  // An incident begins when a healthy device changes, or with a device's first report; from one
  // fault to another it goes on. What follows a program's fault, noted on a healthy device, belongs
  // to that fault.
  const bool noted = !change.before.cause.code.empty();
  const bool begins = (change.before.state == HealthState::kHealthy && !noted) ||
                      change.before.cause.code == cause_code::kNotReported;
  std::string& incident = newest_[id].incident;
  if (begins || incident.empty()) {
    // A readable id that only this device can have: every driver has a gpu-0, and several fail at
    // once when a kubelet's registry goes.
    incident = fmt::format("{}-{}-{}/{}", id.device, Millis(change.after.since.time_since_epoch()),
                           id.driver, id.pool);
    newest_[id].given_well = false;
  }
  return incident;
}

const std::string& HistoryLog::LastIncidentOf(const DeviceId& device) {
  static const std::string kNone;
  const auto it = newest_.find(device);
  return it == newest_.end() ? kNone : it->second.incident;
}

std::string HistoryLog::IncidentOfHolder(const DeviceId& device) {
  const auto it = newest_.find(device);
  return it == newest_.end() || it->second.given_well ? "" : it->second.incident;
}

std::string HistoryLog::Delay(const PodRef& pod, const DeviceId& device, Duration after_sign,
                              WallTime now) const {
  const auto it = newest_.find(device);
  // A Pod's delay is not counted from a time before it had the device.
  if (it != newest_.end() && it->second.holder == pod.uid &&
      it->second.assigned > it->second.changed) {
    return fmt::format("{} ms after assignment",
                       Millis(std::max(now - *it->second.assigned, Duration::zero())));
  }
  // The device was forgotten meanwhile, or never changed: only the publisher's own delay is known.
  if (it == newest_.end() || it->second.by_sign || !it->second.changed) {
    return fmt::format("{} ms after sign", Millis(after_sign));
  }
  const Duration after_change = std::max(now - *it->second.changed, Duration::zero());
  return fmt::format("{} ms after change", Millis(after_change));
}

void HistoryLog::Append(history::Record record) {
  Remember(record);
  store_.Append(std::move(record));
}

// A recovery after a restart belongs to what happened before it.
void HistoryLog::RememberAll() {
  for (const history::Record& record : store_.Since(0)) Remember(record);
}

void HistoryLog::Remember(const history::Record& record) {
  if (record.kind == history::Kind::kSign) {
    Newest& newest = newest_[record.device];
    newest.sign = record.text;
    newest.sign_time = record.time;
    // A sign from before the last change was published with that change, or earlier.
    newest.sign_is_next = record.time > newest.changed;
  } else if (record.kind == history::Kind::kChange) {
    Newest& newest = newest_[record.device];
    const bool stays_well = record.change && record.change->after.state == HealthState::kHealthy;
    if (!stays_well || newest.incident != record.incident) newest.given_well = false;
    newest.incident = record.incident;
    newest.changed = record.time;
    newest.by_sign = std::exchange(newest.sign_is_next, false);
  } else if (record.kind == history::Kind::kAssigned && record.pod) {
    RememberAssigned(record);
  } else if (record.kind == history::Kind::kForgotten) {
    newest_.erase(record.device);
  }
}

void HistoryLog::RememberAssigned(const history::Record& record) {
  const auto [it, first] = newest_.try_emplace(record.device);
  it->second.holder = record.pod->uid;
  it->second.assigned = record.time;
  it->second.given_well |= record.incident.empty();
  if (!first) return;
  only_assigned_.push_back(record.device);
  if (only_assigned_.size() <= kOnlyAssignedMax) return;
  const auto oldest = newest_.find(only_assigned_.front());
  const auto is_only_assigned = [](const Newest& newest) {
    return newest.incident.empty() && newest.sign.empty() && !newest.changed;
  };
  if (oldest != newest_.end() && is_only_assigned(oldest->second)) newest_.erase(oldest);
  only_assigned_.pop_front();
}

}  // namespace galen::agent
