#include "history/record.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/text.h"

namespace galen::history {
namespace {

constexpr Kind kKinds[] = {Kind::kSign,
                           Kind::kChange,
                           Kind::kKept,
                           Kind::kAssigned,
                           Kind::kTold,
                           Kind::kForgotten,
                           Kind::kDriverConnected,
                           Kind::kDriverLost,
                           Kind::kAgentStarted,
                           Kind::kAgentStopped,
                           Kind::kCrash,
                           Kind::kNote};
constexpr int kNanosecondDigits = 9;

void Bound(std::string& text, std::size_t bytes_max) {
  // What cannot stay anyway need not be mended: one byte more is enough to be marked as cut.
  text.resize(std::min(text.size(), bytes_max + 1));
  text = CutText(ToValidUtf8(text), bytes_max);
}

// To the years that ParseRfc3339 reads.
void Bound(WallTime& time) {
  using std::chrono::sys_days;
  using std::chrono::year;
  time = std::clamp<WallTime>(time, sys_days(year(1678) / 1 / 1),
                              sys_days(year(2262) / 1 / 1) - Duration(1));
}

void Bound(DeviceId& id) {
  for (std::string* part : {&id.driver, &id.pool, &id.device}) Bound(*part, kNameBytesMax);
}

void Bound(DeviceHealth& health, const DeviceId& id) {
  health.id = id;
  Cause& cause = health.cause;
  for (std::string* text : {&cause.code, &cause.value, &cause.threshold, &cause.unit}) {
    Bound(*text, kNameBytesMax);
  }
  Bound(cause.message, kTextBytesMax);
  Bound(health.since);
  if (!std::isfinite(health.share)) health.share = 1.0;
}

// An absent member and an empty text read back as the same, so an empty one is not written.
void Put(Json& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object[key] = text;
}

Json ToJson(const Cause& cause) {
  Json json = Json::Object();
  Put(json, "code", cause.code);
  Put(json, "message", cause.message);
  Put(json, "value", cause.value);
  Put(json, "threshold", cause.threshold);
  Put(json, "unit", cause.unit);
  Put(json, "owner", ToString(cause.owner));
  return json;
}

Json ToJson(const DeviceHealth& health) {
  Json json;
  json["state"] = ToString(health.state);
  // Absent is 1, as ToHealth reads it.
  if (health.share != 1.0) json["share"] = health.share;
  if (health.cause != Cause()) json["cause"] = ToJson(health.cause);
  if (health.since != WallTime()) json["since"] = FormatRfc3339(health.since, kNanosecondDigits);
  if (health.timeout) json["timeoutNanos"] = health.timeout->count();
  return json;
}

Json ToJson(const DeviceId& id) {
  return Json::MakeObject({{"driver", id.driver}, {"pool", id.pool}, {"device", id.device}});
}

DeviceId ToDeviceId(const Json& json) {
  return {json["driver"].AsString(), json["pool"].AsString(), json["device"].AsString()};
}

Cause ToCause(const Json& json) {
  return {json["code"].AsString(),  json["message"].AsString(),
          json["value"].AsString(), json["threshold"].AsString(),
          json["unit"].AsString(),  ParseFaultOwner(json["owner"].AsString())};
}

// An absent time is the epoch, which stands for "not known" throughout.
StatusOr<WallTime> ToTime(const Json& json) {
  if (json.is_null()) return WallTime();
  return ParseRfc3339(json.AsString());
}

StatusOr<DeviceHealth> ToHealth(const Json& json, const DeviceId& id) {
  const auto state = ParseHealthState(json["state"].AsString());
  if (!state) return DataLoss("health state \"{}\" is not known", json["state"].AsString());
  DeviceHealth health;
  health.id = id;
  health.state = *state;
  health.share = json["share"].AsDouble(1.0);
  health.cause = ToCause(json["cause"]);
  ASSIGN_OR_RETURN(health.since, ToTime(json["since"]));
  if (json.Has("timeoutNanos")) health.timeout = Duration(json["timeoutNanos"].AsInt());
  return health;
}

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
    case Kind::kTold:
      return "told";
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
  Put(json, "incident", record.incident);
  return json.Dump();
}

StatusOr<Record> Decode(std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(line));
  const auto kind = ParseKind(json["kind"].AsString());
  if (!kind) return DataLoss("record kind \"{}\" is not known", json["kind"].AsString());
  Record record;
  record.kind = *kind;
  // Zero would be taken for a record of before the beginning, and be skipped without a word.
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
  record.incident = json["incident"].AsString();
  return record;
}

}  // namespace galen::history
