// A device's health as JSON, the same in every file of this room; and the bounds that keep what
// came from drivers small enough to write. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "model/health.h"

namespace galen::history {

// Cuts to `bytes_max` at a code point and mends broken UTF-8.
void Bound(std::string& text, std::size_t bytes_max);
// To the years that ParseRfc3339 reads.
void Bound(WallTime& time);
void Bound(DeviceId& id);
// Every text within its bound, its time readable, its share a finite number; of the device `id`.
void Bound(DeviceHealth& health, const DeviceId& id);

// An absent member and an empty text read back as the same, so an empty one is not written.
void Put(Json& object, std::string_view key, std::string_view text);

// Digits after the second in every file of this room: finer than any clock here.
inline constexpr int kNanosecondDigits = 9;

// RFC 3339 with nine digits; the epoch, which stands for "not known", is not written.
void PutTime(Json& object, std::string_view key, WallTime time);
// An absent time is the epoch. An error when the member is not a time.
StatusOr<WallTime> ToTime(const Json& json);
// As PutTime, for a time that may be missing.
void PutOptionalTime(Json& object, std::string_view key, const std::optional<WallTime>& time);
StatusOr<std::optional<WallTime>> ToOptionalTime(const Json& json);

Json ToJson(const DeviceId& id);
DeviceId ToDeviceId(const Json& json);

Json ToJson(const DeviceHealth& health);
// DataLoss for an unknown state, an error when the time cannot be read.
StatusOr<DeviceHealth> ToHealth(const Json& json, const DeviceId& id);

}  // namespace galen::history
