#include "history/store/record.h"

#include <algorithm>
#include <iterator>

#include "base/data/json.h"
#include "history/store/health_json.h"

namespace galen::history {
namespace {

constexpr Kind kKinds[] = {Kind::kSign,
                           Kind::kChange,
                           Kind::kKept,
                           Kind::kAssigned,
                           Kind::kPublished,
                           Kind::kForgotten,
                           Kind::kDriverConnected,
                           Kind::kDriverLost,
                           Kind::kAgentStarted,
                           Kind::kAgentStopped,
                           Kind::kCrash,
                           Kind::kNote};

// The name of kPublished in older journals.
constexpr std::string_view kPublishedBefore = "told";

}  // namespace

std::string_view ToString(Kind kind) {
  switch (kind) {
    case Kind::kSign:
      return "sign";
    case Kind::kChange:
      return "change";
    case Kind::kKept:
      return "kept";
    case Kind::kAssigned:
      return "assigned";
    case Kind::kPublished:
      return "published";
    case Kind::kForgotten:
      return "forgotten";
    case Kind::kDriverConnected:
      return "driver-connected";
    case Kind::kDriverLost:
      return "driver-lost";
    case Kind::kAgentStarted:
      return "agent-started";
    case Kind::kAgentStopped:
      return "agent-stopped";
    case Kind::kCrash:
      return "crash";
    case Kind::kNote:
      return "note";
  }
  GALEN_UNREACHABLE();
}

std::optional<Kind> ParseKind(std::string_view text) {
  if (text == kPublishedBefore) return Kind::kPublished;
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](Kind kind) { return ToString(kind) == text; });
  return found == std::end(kKinds) ? std::nullopt : std::optional(*found);
}

Record Bounded(Record record) {
  Bound(record.time);
  Bound(record.device);
  Bound(record.text, kTextBytesMax);
  Bound(record.source, kTextBytesMax);
  Bound(record.serial, kNameBytesMax);
  Bound(record.incident, kNameBytesMax);
  if (record.change) {
    Bound(record.change->before, record.device);
    Bound(record.change->after, record.device);
  }
  if (record.pod) {
    for (std::string* part : {&record.pod->key.ns, &record.pod->key.name, &record.pod->uid}) {
      Bound(*part, kNameBytesMax);
    }
  }
  return record;
}

std::string Encode(const Record& record) {
  Json json;
  json["sequence"] = record.sequence;
  json["time"] = FormatRfc3339(record.time, kNanosecondDigits);
  json["kind"] = ToString(record.kind);
  if (record.device != DeviceId()) json["device"] = ToJson(record.device);
  Put(json, "serial", record.serial);
  if (record.change) {
    json["before"] = ToJson(record.change->before);
    json["after"] = ToJson(record.change->after);
  }
  if (record.pod) {
    json["pod"] = Json::MakeObject({{"namespace", record.pod->key.ns},
                                    {"name", record.pod->key.name},
                                    {"uid", record.pod->uid}});
  }
  Put(json, "text", record.text);
  Put(json, "source", record.source);
  if (record.late) json["late"] = true;
  Put(json, "incident", record.incident);
  return json.Dump();
}

StatusOr<Record> Decode(std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(line));
  const auto kind = ParseKind(json["kind"].AsString());
  if (!kind) return DataLoss("record kind \"{}\" is not known", json["kind"].AsString());
  Record record;
  record.kind = *kind;
  // Zero would be taken for a record of before the beginning, and be skipped silently.
  if (json["sequence"].AsInt() <= 0) return DataLoss("record has no sequence number");
  record.sequence = static_cast<std::uint64_t>(json["sequence"].AsInt());
  ASSIGN_OR_RETURN(record.time, ParseRfc3339(json["time"].AsString()));
  record.device = ToDeviceId(json["device"]);
  record.serial = json["serial"].AsString();
  if (json.Has("before") || json.Has("after")) {
    HealthChange change;
    ASSIGN_OR_RETURN(change.before, ToHealth(json["before"], record.device));
    ASSIGN_OR_RETURN(change.after, ToHealth(json["after"], record.device));
    record.change = std::move(change);
  }
  if (const Json* pod = json.Find("pod")) {
    record.pod = PodRef{{(*pod)["namespace"].AsString(), (*pod)["name"].AsString()},
                        (*pod)["uid"].AsString()};
  }
  record.text = json["text"].AsString();
  record.source = json["source"].AsString();
  record.late = json["late"].AsBool();
  record.incident = json["incident"].AsString();
  return record;
}

}  // namespace galen::history
