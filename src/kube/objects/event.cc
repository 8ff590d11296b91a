#include "kube/objects/event.h"

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/data/fnv1a.h"
#include "base/text.h"
#include "kube/merge_patch.h"

namespace galen::kube {
namespace {

// An object's name is a DNS subdomain of at most 253 characters; ".", and 16 digits of hash.
constexpr std::size_t kNamePrefixMax = 253 - 17;

// With a separator so that ("ab","c") and ("a","bc") differ. Names must stay the same over
// restarts and versions.
std::uint64_t Hash(std::initializer_list<std::string_view> parts) {
  std::uint64_t hash = kFnv1aStart;
  for (const std::string_view part : parts) {
    hash = Fnv1a(std::string_view("\0", 1), Fnv1a(part, hash));
  }
  return hash;
}

}  // namespace

std::string EventNamespace(const EventSubject& subject) {
  return subject.key.ns.empty() ? "default" : subject.key.ns;
}

ObjectKey EventKey(const EventSubject& subject, std::string_view reason, std::string_view about) {
  std::string_view prefix = std::string_view(subject.key.name).substr(0, kNamePrefixMax);
  // A cut may leave a character that no name may have before a dot.
  while (!prefix.empty() && (prefix.back() == '.' || prefix.back() == '-')) prefix.remove_suffix(1);
  // The uid is part of it: a new Pod of an old name starts with Events of its own.
  const std::uint64_t hash = Hash({subject.kind, subject.uid, reason, about});
  return {EventNamespace(subject), fmt::format("{}.{:016x}", prefix, hash)};
}

Json EncodeEvent(const Event& event) {
  Json involved = Json::MakeObject({{"apiVersion", event.subject.api_version},
                                    {"kind", event.subject.kind},
                                    {"name", event.subject.key.name},
                                    {"uid", event.subject.uid}});
  if (!event.subject.key.ns.empty()) involved["namespace"] = event.subject.key.ns;
  Json meta = Json::MakeObject({{"name", event.key.name}, {"namespace", event.key.ns}});
  if (!event.resource_version.empty()) meta["resourceVersion"] = event.resource_version;
  Json source = Json::MakeObject({{"component", event.component}});
  if (!event.host.empty()) source["host"] = event.host;
  return Json::MakeObject({{"apiVersion", "v1"},
                           {"kind", "Event"},
                           {"metadata", std::move(meta)},
                           {"involvedObject", std::move(involved)},
                           {"type", event.warning ? "Warning" : "Normal"},
                           {"reason", event.reason},
                           {"message", CutText(event.message, kEventMessageBytesMax)},
                           {"source", std::move(source)},
                           {"count", event.count},
                           {"firstTimestamp", FormatRfc3339(event.first)},
                           {"lastTimestamp", FormatRfc3339(event.last)}});
}

StatusOr<Event> DecodeEvent(const Json& object) {
  ASSIGN_OR_RETURN(const Meta meta, DecodeMeta(object));
  const Json& involved = object["involvedObject"];
  Event event;
  event.key = meta.key;
  event.resource_version = object["metadata"]["resourceVersion"].AsString();
  event.subject = {.api_version = involved["apiVersion"].AsString(),
                   .kind = involved["kind"].AsString(),
                   .key = {involved["namespace"].AsString(), involved["name"].AsString()},
                   .uid = involved["uid"].AsString()};
  event.warning = object["type"].AsString() == "Warning";
  event.reason = object["reason"].AsString();
  event.message = object["message"].AsString();
  event.component = object["source"]["component"].AsString();
  event.host = object["source"]["host"].AsString();
  event.count = static_cast<int>(object["count"].AsInt(1));
  // Events of the newer API have only an eventTime.
  const WallTime once = DecodeTime(object["eventTime"]).value_or(meta.created.value_or(WallTime{}));
  event.first = DecodeTime(object["firstTimestamp"]).value_or(once);
  event.last = DecodeTime(object["lastTimestamp"]).value_or(event.first);
  return event;
}

Event Again(Event event, int times, std::string_view message, WallTime last) {
  event.count += times;
  event.message = CutText(message, kEventMessageBytesMax);
  event.last = last;
  return event;
}

Json EventPatch(const Event& before, const Event& after) {
  return CreateMergePatch(EncodeEvent(before), EncodeEvent(after));
}

}  // namespace galen::kube
