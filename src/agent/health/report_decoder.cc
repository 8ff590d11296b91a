#include "agent/health/report_decoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "agent/health/timeout_policy.h"
#include "base/text.h"
#include "rpc/wire_fields.h"

namespace galen::agent {
namespace {

using rpc::WireFields;

// Field 4680 of a device, named after the KEP: what Galen's own drivers add. Kubernetes' readers
// skip it as unknown.
struct Finding {
  bool present = false;
  std::int64_t sign_unix_nanos = 0;
  double share = 0;  // the wire leaves a zero out
  bool degraded = false;
  std::string code, value, threshold, unit, owner;
  DeviceFacts facts;
};

// One device as it came, before it is judged.
struct RawDevice {
  std::string_view pool, device, message;
  std::uint64_t health = 0;
  std::int64_t updated_unix_seconds = 0;
  std::int64_t timeout_seconds = 0;
  Finding finding;
};

std::string CleanText(std::string_view text, std::size_t bytes_max, ReportFaults& faults) {
  if (text.size() > bytes_max) ++faults.cut;
  return Shown(text, bytes_max);
}

// Field numbers are those of Finding in our .proto; wire types are not checked, for a field of the
// wrong type has no bytes or the number zero.
void ReadFinding(std::string_view bytes, Finding& finding, ReportFaults& faults) {
  finding.present = true;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    const auto text = [&] { return CleanText(field->bytes, kFactBytesMax, faults); };
    switch (field->number) {
      case 1:
        finding.sign_unix_nanos = static_cast<std::int64_t>(field->number_value);
        break;
      case 2:
        finding.share = std::bit_cast<double>(field->number_value);
        break;
      case 3:
        finding.degraded = field->number_value != 0;
        break;
      case 4:
        finding.code = text();
        break;
      case 5:
        finding.value = text();
        break;
      case 6:
        finding.threshold = text();
        break;
      case 7:
        finding.unit = text();
        break;
      case 8:
        finding.owner = text();
        break;
      case 9:
        finding.facts.serial = text();
        break;
      case 10:
        finding.facts.model = text();
        break;
      case 11:
        finding.facts.sign = CleanText(field->bytes, kReportedMessageBytesMax, faults);
        break;
      default:
        break;  // of a later version
    }
  }
}

void ReadIdentifier(std::string_view bytes, RawDevice& device) {
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->number == 1) device.pool = field->bytes;
    if (field->number == 2) device.device = field->bytes;
  }
}

std::optional<RawDevice> ReadDevice(std::string_view bytes, ReportFaults& faults) {
  RawDevice device;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->number == 1) ReadIdentifier(field->bytes, device);
    if (field->number == 2) device.health = field->number_value;
    if (field->number == 3) {
      device.updated_unix_seconds = static_cast<std::int64_t>(field->number_value);
    }
    if (field->number == 4) device.timeout_seconds = static_cast<std::int64_t>(field->number_value);
    if (field->number == 5) device.message = field->bytes;
    if (field->number == 4680) ReadFinding(field->bytes, device.finding, faults);
  }
  // A device that cannot be walked to its end is not taken in part: its state may be what is
  // missing.
  if (fields.broken()) return std::nullopt;
  return device;
}

// Degraded is told beside Healthy or Unhealthy, whichever the driver chose for readers that know no
// third.
HealthState StateOf(const RawDevice& device) {
  // UNKNOWN = 0, HEALTHY = 1, UNHEALTHY = 2; a state of a later version tells us nothing.
  if (device.health != 1 && device.health != 2) return HealthState::kUnknown;
  // A device of which nothing is left is no good to its Pod, whatever word its driver uses for it.
  if (device.finding.degraded) {
    return device.finding.share <= 0 ? HealthState::kUnhealthy : HealthState::kDegraded;
  }
  return device.health == 1 ? HealthState::kHealthy : HealthState::kUnhealthy;
}

double ShareOf(const RawDevice& device, HealthState state) {
  if (state != HealthState::kDegraded || !std::isfinite(device.finding.share)) return 1;
  return std::clamp(device.finding.share, 0.0, 1.0);
}

// A code becomes a condition's reason, which Kubernetes wants to look like a CamelCase word.
bool IsCode(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), fits);
}

Cause CauseOf(const RawDevice& device, HealthState state, ReportFaults& faults) {
  const Finding& finding = device.finding;
  Cause cause{.code = IsCode(finding.code) ? finding.code : "",
              .message = CleanText(device.message, kReportedMessageBytesMax, faults),
              .value = finding.value,
              .threshold = finding.threshold,
              .unit = finding.unit,
              .owner = ParseFaultOwner(finding.owner)};
  // Every state but Healthy has a reason, because a Pod's condition must have one.
  if (cause.code.empty() && state != HealthState::kHealthy) cause.code = cause_code::kReported;
  return cause;
}

// Whole seconds of about now say less than our own clock does.
constexpr std::chrono::seconds kSecondsSayLittle{2};

// The time of the sign, never later than now; the epoch when there is none.
WallTime SignTimeOf(const RawDevice& device, WallTime now) {
  if (device.finding.sign_unix_nanos > 0) {
    return std::min(WallTime(Duration(device.finding.sign_unix_nanos)), now);
  }
  const auto now_seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  const std::chrono::seconds updated(device.updated_unix_seconds);
  if (updated.count() <= 0 || updated > now_seconds - kSecondsSayLittle) return {};
  return WallTime(updated);
}

std::optional<Duration> TimeoutOf(const RawDevice& device, ReportFaults& faults) {
  if (device.timeout_seconds < 0) ++faults.negative_timeouts;
  if (device.timeout_seconds <= 0) return std::nullopt;
  // Bounded before it becomes nanoseconds, which would overflow.
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(kTimeoutMax).count();
  return std::chrono::seconds(std::min<std::int64_t>(device.timeout_seconds, most));
}

// Gathers devices; of two with one name the last word counts.
class Gatherer {
 public:
  Gatherer(const std::string& driver, WallTime now) : now_(now) { decoded_.report.driver = driver; }

  void Add(std::string_view bytes) {
    ReportFaults& faults = decoded_.faults;
    if (decoded_.report.devices.size() >= kDevicesPerReportMax)
      return Count(faults.over_limit, [] {
        return fmt::format("more than {} devices in one report", kDevicesPerReportMax);
      });
    const std::optional<RawDevice> raw = ReadDevice(bytes, faults);
    if (!raw) return Count(faults.broken, [] { return "a device that cannot be decoded"; });
    // The driver is the one whose stream it is, whatever the report may say: no driver speaks for
    // another.
    DeviceId id{decoded_.report.driver, std::string(raw->pool.substr(0, kNameBytesMax)),
                std::string(raw->device.substr(0, kNameBytesMax))};
    if (const Status valid = Validate(id); !valid.ok()) {
      return Count(faults.invalid, [&] { return Printable(ToValidUtf8(valid.message())); });
    }
    Put(std::move(id), *raw);
  }

  DecodedReport Take() { return std::move(decoded_); }

 private:
  // One more than any name may have: cut names stay invalid.
  static constexpr std::size_t kNameBytesMax = 254;

  template <typename Say>
  void Count(std::size_t& counter, Say say) {
    ++counter;
    if (decoded_.faults.example.empty()) decoded_.faults.example = CutText(say(), 200);
  }

  void Put(DeviceId id, const RawDevice& raw) {
    ReportFaults& faults = decoded_.faults;
    const HealthState state = StateOf(raw);
    DeviceHealth health{.id = id,
                        .state = state,
                        .share = ShareOf(raw, state),
                        .cause = CauseOf(raw, state, faults),
                        .since = SignTimeOf(raw, now_),
                        .timeout = TimeoutOf(raw, faults)};
    if (raw.finding.present) decoded_.facts[id] = raw.finding.facts;
    const auto [it, fresh] = places_.try_emplace(id, decoded_.report.devices.size());
    if (fresh) {
      decoded_.report.devices.push_back(std::move(health));
      return;
    }
    Count(faults.repeated, [&] { return fmt::format("device {} is named twice", ToString(id)); });
    decoded_.report.devices[it->second] = std::move(health);
  }

  const WallTime now_;
  DecodedReport decoded_;
  std::map<DeviceId, std::size_t> places_;
};

}  // namespace

StatusOr<DecodedReport> DecodeReport(const std::string& driver, std::string_view bytes,
                                     WallTime now) {
  Gatherer gatherer(driver, now);
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->number == 1 && field->type == WireFields::Type::kBytes) gatherer.Add(field->bytes);
  }
  // The devices before the broken byte are dropped as well: what is no message has no devices.
  if (fields.broken()) {
    return InvalidArgument("a health report of {} bytes from driver {} is no protobuf message",
                           bytes.size(), driver);
  }
  return gatherer.Take();
}

}  // namespace galen::agent
