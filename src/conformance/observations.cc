#include "conformance/observations.h"

#include <algorithm>

#include "rpc/wire_fields.h"

namespace galen::conformance {
namespace {

using rpc::WireFields;
using Type = WireFields::Type;

constexpr std::size_t kDevicesMax = 65536;
constexpr Duration kTimeoutDefault = std::chrono::seconds(30);     // DefaultHealthTimeout
constexpr std::int64_t kTimeoutSecondsMax = 365LL * 24 * 60 * 60;  // keeps Duration from wrapping

// Reads `field` into a text; false when it is of another type.
bool TakeText(const WireFields::Field& field, std::string& text) {
  if (field.type != Type::kBytes) return false;
  text = field.bytes;
  return true;
}

bool TakeNumber(const WireFields::Field& field, std::int64_t& number) {
  if (field.type != Type::kVarint) return false;
  number = static_cast<std::int64_t>(field.number_value);
  return true;
}

bool ReadIdentifier(std::string_view bytes, DeviceHealthSeen& device) {
  WireFields fields(bytes);
  bool sound = true;
  while (const auto field = fields.Next()) {
    if (field->number == 1) sound &= TakeText(*field, device.pool);
    if (field->number == 2) sound &= TakeText(*field, device.device);
  }
  return sound && !fields.broken();
}

bool ReadDevice(std::string_view bytes, DeviceHealthSeen& device) {
  WireFields fields(bytes);
  bool sound = true;
  while (const auto field = fields.Next()) {
    switch (field->number) {
      case 1:
        sound &= field->type == Type::kBytes && ReadIdentifier(field->bytes, device);
        break;
      case 2:
        sound &= TakeNumber(*field, device.health);
        break;
      case 3:
        sound &= TakeNumber(*field, device.updated_unix_seconds);
        break;
      case 4:
        sound &= TakeNumber(*field, device.timeout_seconds);
        break;
      case 5:
        sound &= TakeText(*field, device.message);
        break;
      default:  // a later version's, or the driver's own: readers skip it
        break;
    }
  }
  return sound && !fields.broken();
}

}  // namespace

bool Info::Offers(std::string_view version) const {
  return std::find(versions.begin(), versions.end(), version) != versions.end();
}

Duration DeviceHealthSeen::Timeout() const {
  if (timeout_seconds <= 0) return kTimeoutDefault;
  return std::chrono::seconds(std::min(timeout_seconds, kTimeoutSecondsMax));
}

const DeviceHealthSeen* HealthReportSeen::Find(std::string_view key) const {
  for (const DeviceHealthSeen& device : devices) {
    if (device.Key() == key) return &device;
  }
  return nullptr;
}

HealthReportSeen ReadHealthReport(std::string_view message) {
  HealthReportSeen report{.bytes = message.size()};
  WireFields fields(message);
  while (const auto field = fields.Next()) {
    if (field->number != 1) continue;
    DeviceHealthSeen device;
    const bool sound = field->type == Type::kBytes && ReadDevice(field->bytes, device);
    report.broken |= !sound;
    if (report.devices.size() < kDevicesMax) report.devices.push_back(std::move(device));
  }
  report.broken |= fields.broken();
  return report;
}

}  // namespace galen::conformance
