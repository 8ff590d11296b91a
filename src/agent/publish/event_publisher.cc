#include "agent/publish/event_publisher.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/agent_metrics.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::agent {
namespace {

// One for each state; the code is in the message.
EventReason ReasonOf(HealthState state) {
  switch (state) {
    case HealthState::kHealthy:
      return EventReason::kDeviceRecovered;
    case HealthState::kUnknown:
      return EventReason::kDeviceUnknown;
    case HealthState::kDegraded:
      return EventReason::kDeviceDegraded;
    case HealthState::kUnhealthy:
      return EventReason::kDeviceUnhealthy;
  }
  GALEN_UNREACHABLE();
}

// The sentence contains the time of a sign, if that is known.
KnownBy KnownByTimeOf(const DeviceHealth& trouble) {
  return trouble.since == WallTime{} ? KnownBy::kNothing : KnownBy::kMessage;
}

// Whether an Event from before the series shows the change that began the series.
bool Shows(const kube::Event& stored, const EventText& first) {
  return first.known_by == KnownBy::kSubject ||
         (first.known_by == KnownBy::kMessage && stored.message == first.message);
}

}  // namespace

std::string_view ToString(EventReason reason) {
  switch (reason) {
    case EventReason::kDeviceRecovered:
      return "DeviceRecovered";
    case EventReason::kDeviceUnknown:
      return "DeviceUnknown";
    case EventReason::kDeviceDegraded:
      return "DeviceDegraded";
    case EventReason::kDeviceUnhealthy:
      return "DeviceUnhealthy";
    case EventReason::kPostMortem:
      return "PostMortem";
    case EventReason::kFailedPrepare:
      return "FailedPrepareDynamicResources";
    case EventReason::kFailedUnprepare:
      return "FailedUnprepareDynamicResources";
    case EventReason::kFailedCreateContainer:
      return "FailedCreatePodContainer";
    case EventReason::kContainersAreProcesses:
      return "ContainersAreProcesses";
  }
  GALEN_UNREACHABLE();
}

std::optional<EventText> EventOf(const HealthChange& change) {
  const DeviceHealth& before = change.before;
  const DeviceHealth& after = change.after;
  // A changed value or share is shown on the Pod; an Event for each would bury the transitions.
  if (before.state == after.state && before.cause.code == after.cause.code) return std::nullopt;
  const bool is_first_report = before.cause.code == cause_code::kNotReported;
  if (is_first_report && after.state == HealthState::kHealthy) return std::nullopt;
  const bool well = after.state == HealthState::kHealthy;
  // A program's own fault, noted on a device that stays healthy.
  if (well && before.state == HealthState::kHealthy) return std::nullopt;
  std::string sentence = after.id.device + " " + Sentence(after);
  // Names the fault that ended: its own Event may have expired.
  if (well) sentence += fmt::format(", was {}", Sentence(before));
  return EventText{!well, ReasonOf(after.state), CutText(sentence, kube::kEventMessageBytesMax),
                   KnownByTimeOf(well ? before : after)};
}

std::optional<EventText> EventOfAssignment(const DeviceHealth& health) {
  // A driver without health is no fault of each Pod that uses it.
  const bool silent = health.cause.code == cause_code::kNotReported;
  if (health.state == HealthState::kHealthy || silent) return std::nullopt;
  return EventText{
      true, ReasonOf(health.state),
      CutText(fmt::format("This Pod was given {}: {}", health.id.device, Sentence(health)),
              kube::kEventMessageBytesMax),
      KnownByTimeOf(health)};
}

EventPublisher::EventPublisher(Edges edges, std::string node)
    : edges_(edges),
      node_(std::move(node)),
      queue_(
          edges.loop, edges.random,
          {.backoff = {.first = std::chrono::milliseconds(250), .most = std::chrono::seconds(60)},
           .at_once_max = 4},
          [this](const ObjectKey& key, Done done) { Reconcile(key, std::move(done)); }) {}

void EventPublisher::Publish(const PodRef& pod, const std::string& subject, const EventText& text,
                             OnEnd on_end) {
  // One for each Pod, reason and subject: the same transition again is the same Event.
  Series& series = SeriesOf(pod, subject, text);
  series.event.message = text.message;
  series.event.last = edges_.loop.WallNow();
  ++series.unwritten;
  if (on_end) series.on_end.push_back(std::move(on_end));
  queue_.MarkDirty(series.event.key);
}

void EventPublisher::Flush() {
  gathers_ = false;
  for (const auto& [key, series] : series_) {
    if (series.unwritten > 0) queue_.MarkDirty(key);
  }
}

bool EventPublisher::idle() const {
  return calls_.empty() &&
         std::ranges::all_of(series_, [](const auto& one) { return one.second.unwritten == 0; });
}

void EventPublisher::Forget(const PodRef& pod) {
  std::vector<ObjectKey> keys;
  for (auto& [key, series] : series_) {
    if (series.event.subject.uid != pod.uid) continue;
    series.forgotten = true;
    keys.push_back(key);
  }
  for (const ObjectKey& key : keys) LetGo(key);
}

void EventPublisher::LetGo(const ObjectKey& key) {
  const auto it = series_.find(key);
  if (it == series_.end() || !it->second.forgotten) return;
  if (it->second.unwritten == 0 && !calls_.contains(key)) series_.erase(it);
}

void EventPublisher::Reconcile(const ObjectKey& key, Done done) {
  const auto it = series_.find(key);
  if (it == series_.end() || it->second.unwritten == 0) return done(OkStatus());
  Series& series = it->second;
  // Nothing is lost by waiting: what happens meanwhile is counted into the same write.
  if (gathers_ && edges_.loop.Now() < series.next_write) {
    series.later = edges_.loop.At(series.next_write, [this, key] { queue_.MarkDirty(key); });
    return done(OkStatus());
  }
  if (!series.stored) {
    // It may have happened more than once before the first write.
    kube::Event event = series.event;
    event.count = series.unwritten;
    net::HttpRequest request = kube::Create(kube::kEvents, key.ns, kube::EncodeEvent(event));
    return Ask(key, Step::kCreate, std::move(event), std::move(request), std::move(done));
  }
  // The count and the beginning are those of the whole series, as kubectl shows it.
  kube::Event event =
      kube::Again(*series.stored, series.unwritten, series.event.message, series.event.last);
  const Json patch = kube::EventPatch(*series.stored, event);
  Ask(key, Step::kCount, std::move(event),
      kube::Patch(kube::kEvents, key.ns, key.name, kube::PatchType::kMerge, patch),
      std::move(done));
}

void EventPublisher::Ask(const ObjectKey& key, Step step, kube::Event sent,
                         net::HttpRequest request, Done done) {
  calls_[key] = edges_.client.Do(std::move(request), [this, key, step, sent = std::move(sent),
                                                      done](const StatusOr<Json>& reply) {
    calls_.erase(key);
    const auto it = series_.find(key);
    if (it == series_.end()) return done(OkStatus());
    Conclude(it->second, step, sent, reply, done);
    LetGo(key);
  });
}

void EventPublisher::Conclude(Series& series, Step step, const kube::Event& sent,
                              const StatusOr<Json>& reply, Done done) {
  const ObjectKey key = series.event.key;
  const Code code = reply.status().code();
  if (step != Step::kRead) {
    edges_.metrics.Add(metric::kApiWrites,
                       {{"kind", "Event"}, {"result", reply.ok() ? "ok" : "error"}});
  }
  // An earlier agent wrote it: its count is increased instead.
  if (step == Step::kCreate && code == Code::kAlreadyExists) {
    return Ask(key, Step::kRead, sent, kube::Get(kube::kEvents, key.ns, key.name), std::move(done));
  }
  if (step == Step::kRead && reply.ok()) {
    StatusOr<kube::Event> stored = kube::DecodeEvent(*reply);
    if (!stored.ok()) {
      // An Event that may not be read cannot be counted up; Events are optional, so it counts as
      // written.
      Written(series, sent);
      return done(OkStatus());
    }
    TakeStored(series, *std::move(stored));
    // The count that was read lets the next look add to it.
    queue_.MarkDirty(key);
    return done(OkStatus());
  }
  // The server deletes Events after an hour or so.
  if (step != Step::kCreate && code == Code::kNotFound) {
    series.stored.reset();
    return done(Unavailable("Event {} is gone", key.name));
  }
  if (!reply.ok() && IsRetryable(reply.status())) {
    series.maybe_made = series.maybe_made || step == Step::kCreate;
    return done(reply.status());
  }
  if (!reply.ok()) {
    // Events are optional, and a namespace that is being deleted takes none. The state itself is on
    // the Pod.
    if (!std::exchange(refused_, true)) {
      edges_.log.Warning("Event refused", {{"pod", ToString(sent.subject.key)},
                                           {"error", reply.status().message()}});
    }
  }
  if (reply.ok()) refused_ = false;  // the next refusal is logged again
  Written(series, sent);
  done(OkStatus());
}

void EventPublisher::TakeStored(Series& series, kube::Event stored) {
  // Objects have whole seconds. A stored Event that began when ours did already counts what we sent
  // first.
  const bool ours = std::exchange(series.maybe_made, false) && stored.host == node_ &&
                    FormatRfc3339(stored.first) == FormatRfc3339(series.event.first);
  if (ours) series.unwritten -= std::min(stored.count, series.unwritten);
  if (!ours && Shows(stored, series.first)) --series.unwritten;
  // Later occurrences are counted up, whatever their message.
  series.first = {};
  series.stored = std::move(stored);
  CallIfAllIsWritten(series);
}

void EventPublisher::Written(Series& series, const kube::Event& sent) {
  // Occurrences during the write are not in it.
  series.unwritten -= sent.count - (series.stored ? series.stored->count : 0);
  series.stored = sent;
  series.next_write = edges_.loop.Now() + series.gap;
  series.gap = std::min(series.gap * 2, kGatherMost);
  if (series.unwritten > 0) queue_.MarkDirty(sent.key);
  CallIfAllIsWritten(series);
}

void EventPublisher::CallIfAllIsWritten(Series& series) {
  if (series.unwritten > 0) return;
  for (const OnEnd& call : std::exchange(series.on_end, {})) call(true);
}

EventPublisher::Series& EventPublisher::SeriesOf(const PodRef& pod, const std::string& subject,
                                                 const EventText& text) {
  const kube::EventSubject about{.kind = "Pod", .key = pod.key, .uid = pod.uid};
  const ObjectKey key = kube::EventKey(about, ToString(text.reason), subject);
  if (const auto it = series_.find(key); it != series_.end()) return it->second;
  MakeRoom();
  Series& series = series_[key];
  series.first = text;
  series.event = {.key = key,
                  .subject = about,
                  .warning = text.warning,
                  .reason = std::string(ToString(text.reason)),
                  .component = "galen-agent",
                  .host = node_,
                  .first = edges_.loop.WallNow()};
  return series;
}

void EventPublisher::MakeRoom() {
  if (series_.size() < kSeriesMax) return;
  // Not a series that is being written: the answer would be taken for that of a series made anew.
  const auto rank = [this](const auto& entry) {
    const Series& series = entry.second;
    return std::tuple(calls_.contains(entry.first), !series.on_end.empty(), series.event.last);
  };
  const auto gone = series_.extract(std::ranges::min_element(series_, {}, rank));
  for (const OnEnd& call : gone.mapped().on_end) call(false);
}

}  // namespace galen::agent
