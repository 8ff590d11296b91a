#include "agent/health/report_decoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "agent/health/timeout_policy.h"
#include "base/text.h"
#include "protos/dra_health/v1/health.pb.h"
#include "rpc/wire_fields.h"

namespace galen::agent {
namespace {

using rpc::WireFields;

// The field "galen" of a device: what Galen's own drivers add. Kubernetes' readers skip it as
// unknown.
struct RawFinding {
  bool present = false;
  std::int64_t sign_unix_nanos = 0;
  double share = 0;  // the wire leaves a zero out
  bool degraded = false;
  std::string code, value, threshold, unit, owner;
  DeviceFacts facts;
};

// One device as received, before it is checked.
struct RawDevice {
  std::string_view pool, device, message;
  std::uint64_t health = 0;
  std::int64_t updated_unix_seconds = 0;
  std::int64_t timeout_seconds = 0;
  RawFinding finding;
};

std::string CleanText(std::string_view text, std::size_t bytes_max, ReportFaults& faults) {
  if (text.size() > bytes_max) ++faults.cut;
  return Shown(text, bytes_max);
}

// Field numbers are those of protos/dra_health, the same in v1 and v1alpha1. Its messages are not
// parsed as such: that would build every device before the first can be refused. Wire types are not
// checked, for a field of the wrong type has no bytes or the number zero.
void ReadFinding(std::string_view bytes, RawFinding& finding, ReportFaults& faults) {
  finding.present = true;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    const auto text = [&] { return CleanText(field->bytes, kFactBytesMax, faults); };
    switch (field->number) {
      case v1::Finding::kSignUnixNanosFieldNumber:
        finding.sign_unix_nanos = static_cast<std::int64_t>(field->number_value);
        break;
      case v1::Finding::kShareFieldNumber:
        finding.share = std::bit_cast<double>(field->number_value);
        break;
      case v1::Finding::kDegradedFieldNumber:
        finding.degraded = field->number_value != 0;
        break;
      case v1::Finding::kCodeFieldNumber:
        finding.code = text();
        break;
      case v1::Finding::kValueFieldNumber:
        finding.value = text();
        break;
      case v1::Finding::kThresholdFieldNumber:
        finding.threshold = text();
        break;
      case v1::Finding::kUnitFieldNumber:
        finding.unit = text();
        break;
      case v1::Finding::kOwnerFieldNumber:
        finding.owner = text();
        break;
      case v1::Finding::kSerialFieldNumber:
        finding.facts.serial = text();
        break;
      case v1::Finding::kModelFieldNumber:
        finding.facts.model = text();
        break;
      case v1::Finding::kSignFieldNumber:
        finding.facts.sign = CleanText(field->bytes, kReportedMessageBytesMax, faults);
        break;
      case v1::Finding::kUuidFieldNumber:
        finding.facts.uuid = text();
        break;
      case v1::Finding::kPciAddressFieldNumber:
        finding.facts.pci_address = text();
        break;
      default:
        break;  // of a later version
    }
  }
}

void ReadIdentifier(std::string_view bytes, RawDevice& device) {
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->number == v1::DeviceIdentifier::kPoolNameFieldNumber) device.pool = field->bytes;
    if (field->number == v1::DeviceIdentifier::kDeviceNameFieldNumber) device.device = field->bytes;
  }
}

std::optional<RawDevice> ReadDevice(std::string_view bytes, ReportFaults& faults) {
  RawDevice device;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    switch (field->number) {
      case v1::DeviceHealth::kDeviceFieldNumber:
        ReadIdentifier(field->bytes, device);
        break;
      case v1::DeviceHealth::kHealthFieldNumber:
        device.health = field->number_value;
        break;
      case v1::DeviceHealth::kLastUpdatedTimeFieldNumber:
        device.updated_unix_seconds = static_cast<std::int64_t>(field->number_value);
        break;
      case v1::DeviceHealth::kHealthCheckTimeoutSecondsFieldNumber:
        device.timeout_seconds = static_cast<std::int64_t>(field->number_value);
        break;
      case v1::DeviceHealth::kMessageFieldNumber:
        device.message = field->bytes;
        break;
      case v1::DeviceHealth::kGalenFieldNumber:
        ReadFinding(field->bytes, device.finding, faults);
        break;
      default:
        break;  // of a later version
    }
  }
  // A device that cannot be parsed to its end is dropped whole: its state may be in the missing
  // part.
  if (fields.broken()) return std::nullopt;
  return device;
}

// Degraded comes beside Healthy or Unhealthy, whichever the driver chose for readers that know no
// third.
HealthState StateOf(const RawDevice& device) {
  const bool healthy = device.health == v1::HEALTHY;
  // A state that a later version added is unknown here.
  if (!healthy && device.health != v1::UNHEALTHY) return HealthState::kUnknown;
  // A device with nothing left is of no use to its Pod, whatever state its driver gives.
  if (device.finding.degraded) {
    return device.finding.share <= 0 ? HealthState::kUnhealthy : HealthState::kDegraded;
  }
  return healthy ? HealthState::kHealthy : HealthState::kUnhealthy;
}

double ShareOf(const RawDevice& device, HealthState state) {
  if (state != HealthState::kDegraded || !std::isfinite(device.finding.share)) return 1;
  return std::clamp(device.finding.share, 0.0, 1.0);
}

// A code becomes a condition's reason, which Kubernetes wants to look like a CamelCase name.
bool IsCode(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), fits);
}

Cause CauseOf(const RawDevice& device, HealthState state, ReportFaults& faults) {
  const RawFinding& finding = device.finding;
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

// A time in whole seconds, close to now, is less exact than our own clock.
constexpr std::chrono::seconds kSecondsSayLittle{2};

// The time of the sign, never later than now; the epoch when there is none.
WallTime SignTimeOf(const RawDevice& device, WallTime now) {
  if (device.finding.sign_unix_nanos > 0)
    return std::min(WallTime(Duration(device.finding.sign_unix_nanos)), now);
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

}  // namespace

// Gathers devices; of two with one name the last counts.
struct ReportReader::Impl {
 public:
  Impl(const std::string& driver, std::string_view report, WallTime now)
      : report_bytes(report.size()), fields(report), now_(now) {
    decoded_.report.driver = driver;
  }

  const std::size_t report_bytes;
  WireFields fields;

  void Add(std::string_view bytes) {
    ReportFaults& faults = decoded_.faults;
    if (decoded_.report.devices.size() >= kDevicesPerReportMax)
      return Count(faults.over_limit, [] {
        return fmt::format("more than {} devices in one report", kDevicesPerReportMax);
      });
    const std::optional<RawDevice> raw = ReadDevice(bytes, faults);
    if (!raw) return Count(faults.broken, [] { return "a device that cannot be decoded"; });
    // The driver is the one that owns the stream, whatever the report says: no driver reports for
    // another.
    DeviceId id{decoded_.report.driver, std::string(raw->pool.substr(0, kNameBytesRead)),
                std::string(raw->device.substr(0, kNameBytesRead))};
    if (const Status valid = Validate(id); !valid.ok()) {
      return Count(faults.invalid, [&] { return Printable(ToValidUtf8(valid.message())); });
    }
    Put(std::move(id), *raw);
  }

  const std::string& driver() const { return decoded_.report.driver; }
  DecodedReport Take() { return std::move(decoded_); }

 private:
  // One byte more than any name may have, so that a cut name is still invalid.
  static constexpr std::size_t kNameBytesRead = 254;

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

ReportReader::ReportReader(const std::string& driver, std::string_view bytes, WallTime now)
    : impl_(std::make_unique<Impl>(driver, bytes, now)) {}
ReportReader::ReportReader(ReportReader&&) noexcept = default;
ReportReader& ReportReader::operator=(ReportReader&&) noexcept = default;
ReportReader::~ReportReader() = default;

bool ReportReader::Step(std::size_t devices) {
  // Fields that are no devices count as well: a report of only those can be long, too.
  for (std::size_t i = 0; i < devices; ++i) {
    const auto field = impl_->fields.Next();
    if (!field) return true;
    const bool is_device = field->number == v1::NodeWatchResourcesResponse::kDevicesFieldNumber;
    if (is_device && field->type == WireFields::Type::kBytes) impl_->Add(field->bytes);
  }
  return false;
}

StatusOr<DecodedReport> ReportReader::Take() {
  // The devices before the broken byte are dropped as well: a broken message cannot be trusted at
  // all.
  if (impl_->fields.broken()) {
    return InvalidArgument("a health report of {} bytes from driver {} is no protobuf message",
                           impl_->report_bytes, impl_->driver());
  }
  return impl_->Take();
}

StatusOr<DecodedReport> DecodeReport(const std::string& driver, std::string_view bytes,
                                     WallTime now) {
  ReportReader reader(driver, bytes, now);
  while (!reader.Step(kDevicesPerReportMax)) {
  }
  return reader.Take();
}

}  // namespace galen::agent
