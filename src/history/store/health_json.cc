#include "history/store/health_json.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "history/store/record.h"

namespace galen::history {
namespace {

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

Cause ToCause(const Json& json) {
  return {json["code"].AsString(),  json["message"].AsString(),
          json["value"].AsString(), json["threshold"].AsString(),
          json["unit"].AsString(),  ParseFaultOwner(json["owner"].AsString())};
}

}  // namespace

void Bound(std::string& text, std::size_t bytes_max) {
  // The rest is cut off in any case, so nothing of it is mended. One byte past the bound stays: by
  // it CutText sees that there was more.
  text.resize(std::min(text.size(), bytes_max + 1));
  text = CutText(ToValidUtf8(text), bytes_max);
}

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

void Put(Json& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object[key] = text;
}

void PutTime(Json& object, std::string_view key, WallTime time) {
  if (time != WallTime()) object[key] = FormatRfc3339(time, kNanosecondDigits);
}

StatusOr<WallTime> ToTime(const Json& json) {
  if (json.is_null()) return WallTime();
  return ParseRfc3339(json.AsString());
}

void PutOptionalTime(Json& object, std::string_view key, const std::optional<WallTime>& time) {
  if (time) PutTime(object, key, *time);
}

StatusOr<std::optional<WallTime>> ToOptionalTime(const Json& json) {
  if (json.is_null()) return std::optional<WallTime>();
  ASSIGN_OR_RETURN(const WallTime time, ToTime(json));
  return std::optional(time);
}

Json ToJson(const DeviceId& id) {
  return Json::MakeObject({{"driver", id.driver}, {"pool", id.pool}, {"device", id.device}});
}

DeviceId ToDeviceId(const Json& json) {
  return {json["driver"].AsString(), json["pool"].AsString(), json["device"].AsString()};
}

Json ToJson(const DeviceHealth& health) {
  Json json;
  json["state"] = ToString(health.state);
  // Absent is 1, as ToHealth reads it.
  if (health.share != 1.0) json["share"] = health.share;
  if (health.cause != Cause()) json["cause"] = ToJson(health.cause);
  PutTime(json, "since", health.since);
  if (health.timeout) json["timeoutNanos"] = health.timeout->count();
  return json;
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

}  // namespace galen::history
