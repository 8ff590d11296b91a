#include "cluster_sim/controllers/event_recorder.h"

#include <algorithm>
#include <utility>

#include "api_sim/objects/pod_facts.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::cluster_sim {
namespace {

// client-go makes 16 hexadecimal digits from the time; people are used to that length.
constexpr int kEventSuffixLength = 16;

kube::EventSubject SubjectOf(const Json& regarding) {
  return {.api_version = regarding["apiVersion"].AsString(),
          .kind = regarding["kind"].AsString(),
          .key = api_sim::KeyOf(regarding),
          .uid = api_sim::UidOf(regarding)};
}

}  // namespace

EventRecorder::EventRecorder(Loop& loop, kube::Client& client, Random& random, Log& log,
                             std::string component)
    : loop_(loop),
      random_(random),
      log_(log),
      component_(std::move(component)),
      calls_(loop, client) {}

void EventRecorder::Record(const Json& regarding, EventType type, const std::string& reason,
                           std::string_view message) {
  const std::string text = CutText(message, kube::kEventMessageBytesMax);
  const What what = api_sim::UidOf(regarding) + "/" + reason + "/" + text;
  if (const auto it = seen_.find(what); it != seen_.end()) return Count(what, it->second);
  Create(what, {.subject = SubjectOf(regarding),
                .warning = type == EventType::kWarning,
                .reason = reason,
                .message = text,
                .component = component_});
}

void EventRecorder::Create(const What& what, kube::Event event) {
  if (seen_.size() == kRememberedMax && !seen_.contains(what)) {
    seen_.erase(
        std::ranges::min_element(seen_, {}, [](const auto& one) { return one.second.turn; }));
  }
  event.key = {kube::EventNamespace(event.subject),
               event.subject.key.name + "." + random_.NameSuffix(kEventSuffixLength)};
  event.count = 1;
  event.first = event.last = loop_.WallNow();
  Json object = kube::EncodeEvent(event);
  object["reportingComponent"] = component_;
  const std::string ns = event.key.ns;
  seen_[what] = {std::move(event), ++turn_};
  calls_.Do(kube::Create(kube::kEvents, ns, object), [this](const StatusOr<Json>& answer) {
    if (!answer.ok()) log_.Debug("event lost", {{"error", ToString(answer.status())}});
  });
}

void EventRecorder::Count(const What& what, Seen& seen) {
  const kube::Event before = seen.event;
  seen = {kube::Again(before, 1, before.message, loop_.WallNow()), ++turn_};
  calls_.Do(kube::Patch(kube::kEvents, before.key.ns, before.key.name, kube::PatchType::kMerge,
                        kube::EventPatch(before, seen.event)),
            [this, what, again = seen.event](const StatusOr<Json>& answer) {
              if (answer.ok()) return;
              // The server deletes Events after a while: this one is created anew and counts from
              // one.
              if (answer.status().code() == Code::kNotFound) return Create(what, again);
              log_.Debug("event lost", {{"error", ToString(answer.status())}});
            });
}

}  // namespace galen::cluster_sim
