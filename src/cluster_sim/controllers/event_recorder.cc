#include "cluster_sim/controllers/event_recorder.h"

#include "api_sim/objects/pod_facts.h"
#include "base/text.h"
#include "kube/request.h"

namespace galen::cluster_sim {
namespace {

// client-go makes 16 hexadecimal digits of the time; the length is what people are used to.
constexpr int kEventSuffixLength = 16;

std::string NamespaceOf(const Json& regarding) {
  // Events about cluster-scoped objects live in "default", by Kubernetes' convention.
  const std::string& ns = api_sim::KeyOf(regarding).ns;
  return ns.empty() ? "default" : ns;
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
  const std::string text = CutText(message, kMessageBytesMax);
  const std::string what = api_sim::UidOf(regarding) + "/" + reason + "/" + text;
  Seen& seen = Remember(what, regarding);
  if (++seen.count == 1) return Create(regarding, type, reason, text, seen);
  // The object is kept for the case that the Event expired and has to be made again.
  Count(seen, [this, what, regarding, type, reason, text] {
    Forget(what);
    Record(regarding, type, reason, text);
  });
}

void EventRecorder::Forget(const std::string& what) {
  const auto it = seen_.find(what);
  if (it == seen_.end()) return;
  oldest_first_.erase(it->second.age);
  seen_.erase(it);
}

EventRecorder::Seen& EventRecorder::Remember(const std::string& what, const Json& regarding) {
  if (const auto it = seen_.find(what); it != seen_.end()) {
    oldest_first_.splice(oldest_first_.end(), oldest_first_, it->second.age);
    return it->second;
  }
  if (seen_.size() == kRememberedMax) Forget(std::string(oldest_first_.front()));
  // Newest at the end; Record moves an entry there each time it is said.
  const auto age = oldest_first_.insert(oldest_first_.end(), what);
  const std::string name =
      api_sim::KeyOf(regarding).name + "." + random_.NameSuffix(kEventSuffixLength);
  return seen_.emplace(what, Seen{NamespaceOf(regarding), name, 0, age}).first->second;
}

void EventRecorder::Create(const Json& regarding, EventType type, const std::string& reason,
                           const std::string& message, const Seen& seen) {
  const std::string now = FormatRfc3339(loop_.WallNow());
  const ObjectKey key = api_sim::KeyOf(regarding);
  Json involved = Json::MakeObject({{"apiVersion", regarding["apiVersion"]},
                                    {"kind", regarding["kind"]},
                                    {"name", key.name},
                                    {"uid", api_sim::UidOf(regarding)}});
  if (!key.ns.empty()) involved["namespace"] = key.ns;
  const Json event = Json::MakeObject(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata", Json::MakeObject({{"name", seen.name}, {"namespace", seen.ns}})},
       {"involvedObject", std::move(involved)},
       {"reason", reason},
       {"message", message},
       {"type", type == EventType::kWarning ? "Warning" : "Normal"},
       {"source", Json::MakeObject({{"component", component_}})},
       {"reportingComponent", component_},
       {"firstTimestamp", now},
       {"lastTimestamp", now},
       {"count", 1}});
  calls_.Do(kube::Create(kube::kEvents, seen.ns, event), [this](const StatusOr<Json>& answer) {
    if (!answer.ok()) log_.Debug("event lost", {{"error", ToString(answer.status())}});
  });
}

void EventRecorder::Count(const Seen& seen, std::function<void()> on_expired) {
  const Json patch =
      Json::MakeObject({{"count", seen.count}, {"lastTimestamp", FormatRfc3339(loop_.WallNow())}});
  calls_.Do(kube::Patch(kube::kEvents, seen.ns, seen.name, kube::PatchType::kMerge, patch),
            [this, on_expired = std::move(on_expired)](const StatusOr<Json>& answer) {
              if (answer.ok()) return;
              if (answer.status().code() == Code::kNotFound) return on_expired();
              log_.Debug("event lost", {{"error", ToString(answer.status())}});
            });
}

}  // namespace galen::cluster_sim
