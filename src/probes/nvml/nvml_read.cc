// What one GPU shows, by NVML. Tested by nvml_read_test.cc and nvml_library_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/nvml/nvml_functions.h"
#include "probes/nvml/nvml_library.h"

namespace galen::probes {
namespace {

// GT/s of a lane, by PCIe's generation.
constexpr std::array<double, 7> kLaneSpeeds = {0, 2.5, 5, 8, 16, 32, 64};

// Whether this GPU, its kind or its driver does not have the value.
bool IsMissing(int result) {
  return result == nvml::kNotSupported || result == nvml::kFunctionNotFound ||
         result == nvml::kInvalidArgument;
}

// Collects the signs of one GPU.
class Signs {
 public:
  // Whether there is a value; what cannot be read is put down as that.
  bool Has(int result, const char* name) {
    lost_ = lost_ || result == nvml::kGpuIsLost;
    needs_reset_ = needs_reset_ || result == nvml::kResetRequired;
    mismatch_ = mismatch_ || result == nvml::kVersionMismatch;
    answered_ = answered_ || result == nvml::kSuccess;
    if (result == nvml::kSuccess) return true;
    if (!IsMissing(result)) signs_.push_back({.name = name, .error = NvmlErrorText(result)});
    return false;
  }
  // As Has, for what nothing can be read without: that it is missing is an error, too.
  bool Needs(int result, const char* name) {
    if (IsMissing(result)) signs_.push_back({.name = name, .error = NvmlErrorText(result)});
    return Has(result, name);
  }
  Sign& Add(const char* name, double value, const char* unit = "") {
    signs_.push_back(
        {.name = name,
         .value = value,
         .unit = unit,
         .raw = fmt::format("NVML: {} {}{}{}", name, value, *unit != '\0' ? " " : "", unit)});
    return signs_.back();
  }
  void AddError(const char* name, std::string error) {
    signs_.push_back({.name = name, .error = std::move(error)});
  }
  bool Shows(std::string_view name) const {
    return std::ranges::find(signs_, name, &Sign::name) != signs_.end();
  }
  // Values that a library reads of a module of another version mean nothing.
  bool mismatch() const { return mismatch_; }

  // Nothing else counts of a GPU that is lost, and nothing else is known of one that needs a reset.
  std::vector<Sign> Take() && {
    if (lost_) return {{.name = "gpu-lost", .value = 1.0, .raw = "NVML: the GPU is lost"}};
    if (needs_reset_) {
      // The field's value is older, or such a GPU does not set it.
      std::erase_if(signs_, [](const Sign& sign) { return sign.name == "recovery-action"; });
      signs_.push_back(
          {.name = "recovery-action", .value = 1.0, .raw = "NVML: the GPU needs a reset"});
    }
    // A GPU that shows nothing at all is not taken for healthy.
    if (!answered_ && signs_.empty()) {
      return {{.name = "nvml", .error = "it supports nothing of what is read of a GPU"}};
    }
    return std::move(signs_);
  }

 private:
  std::vector<Sign> signs_;
  bool lost_ = false, needs_reset_ = false, mismatch_ = false, answered_ = false;
};

// Compares with the limits of this very GPU; with those of the table only where it has none.
void ReadTemperature(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  unsigned celsius = 0, limit = 0;
  if (!signs.Has(call.temperature(gpu, nvml::kTemperatureOfGpu, &celsius), "temperature")) return;
  const double now = celsius;
  const int slowdown = call.temperature_limit(gpu, nvml::kLimitSlowdown, &limit);
  if (IsMissing(slowdown)) {
    signs.Add("temperature", now, "°C");
  } else if (signs.Has(slowdown, "temperature-margin")) {
    signs.Add("temperature-margin", limit - now, "°C").raw =
        fmt::format("NVML: {} °C, slows down at {} °C", celsius, limit);
  }
  if (signs.Has(call.temperature_limit(gpu, nvml::kLimitShutdown, &limit), "shutdown-margin")) {
    signs.Add("shutdown-margin", limit - now, "°C").raw =
        fmt::format("NVML: {} °C, shuts down at {} °C", celsius, limit);
  }
}

void ReadClocksAndPower(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  unsigned long long reasons = 0;
  if (signs.Has(call.clock_reasons(gpu, &reasons), "thermal-slowdown")) {
    signs.Add("thermal-slowdown", (reasons & nvml::kSlowByHardwareThermal) != 0);
    signs.Add("software-slowdown", (reasons & nvml::kSlowBySoftwareThermal) != 0);
    signs.Add("power-brake", (reasons & nvml::kSlowByPowerBrake) != 0);
  }
  unsigned milliwatts = 0;
  if (signs.Has(call.power(gpu, &milliwatts), "power")) {
    signs.Add("power", milliwatts / 1000.0, "W");
  }
  nvml::Utilization utilization{};
  if (signs.Has(call.utilization(gpu, &utilization), "utilization")) {
    signs.Add("utilization", utilization.gpu, "%");
  }
}

void ReadMemoryErrors(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  unsigned long long errors = 0;
  if (signs.Has(call.ecc_errors(gpu, nvml::kEccUncorrected, nvml::kEccSinceReset, &errors),
                "ecc-uncorrectable")) {
    signs.Add("ecc-uncorrectable", static_cast<double>(errors));
  }
  if (signs.Has(call.ecc_errors(gpu, nvml::kEccCorrected, nvml::kEccSinceReset, &errors),
                "ecc-corrected")) {
    signs.Add("ecc-corrected", static_cast<double>(errors));
  }
  if (signs.Has(call.ecc_errors(gpu, nvml::kEccUncorrected, nvml::kEccEver, &errors),
                "ecc-uncorrectable-ever")) {
    signs.Add("ecc-uncorrectable-ever", static_cast<double>(errors));
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (signs.Has(call.remapped_rows(gpu, &corrected, &uncorrected, &pending, &failed),
                "row-remap-pending")) {
    signs.Add("row-remap-pending", pending != 0);
    signs.Add("row-remap-failed", failed != 0);
  }
  if (signs.Has(call.retirement_pending(gpu, &pending), "page-retirement-pending")) {
    signs.Add("page-retirement-pending", pending != 0);
  }
}

void ReadFields(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  constexpr const char* kSigns[] = {"memory-temperature", "recovery-action"};
  nvml::FieldValue fields[2] = {};
  fields[0].field_id = nvml::kFieldMemoryTemperature;
  fields[1].field_id = nvml::kFieldRecoveryAction;
  const int all = call.field_values(gpu, 2, fields);
  for (int i = 0; i < 2; ++i) {
    if (!signs.Has(all == nvml::kSuccess ? fields[i].result : all, kSigns[i])) continue;
    const unsigned value = fields[i].value.as_unsigned;
    // 0 °C is the answer of GPUs without such a sensor.
    if (fields[i].field_id == nvml::kFieldMemoryTemperature && value == 0) continue;
    signs.Add(kSigns[i], value);
  }
}

void ReadPcie(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  unsigned now = 0, most = 0;
  if (signs.Has(call.width(gpu, &now), "pcie-width") &&
      signs.Has(call.width_most(gpu, &most), "pcie-width")) {
    signs.Add("pcie-width", now, "lanes").expected = most;
  }
  if (signs.Has(call.generation(gpu, &now), "pcie-speed") &&
      signs.Has(call.generation_most(gpu, &most), "pcie-speed") && now < kLaneSpeeds.size() &&
      most < kLaneSpeeds.size()) {
    signs.Add("pcie-speed", kLaneSpeeds[now], "GT/s").expected = kLaneSpeeds[most];
  }
  unsigned replays = 0;
  if (signs.Has(call.replays(gpu, &replays), "pcie-replays")) signs.Add("pcie-replays", replays);
}

// Whether the GPU may have links, whose counters are then worth some two hundred calls.
bool ReadNvLink(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  unsigned links = 0, up = 0;
  std::string down;
  for (unsigned link = 0; link < nvml::kNvLinksMax; ++link) {
    unsigned active = 0;
    const int result = call.nvlink_state(gpu, link, &active);
    if (IsMissing(result)) continue;
    // Whether it is up is not known, so neither is how many are.
    if (!signs.Has(result, "nvlinks-up")) return true;
    ++links;
    up += active != 0 ? 1 : 0;
    if (active == 0) down += fmt::format("{}{}", down.empty() ? ", not up: " : " ", link);
  }
  if (links > 0) signs.Add("nvlinks-up", up, "links").raw += down;
  return links > 0;
}

// A link that is down has no counters. When it is back, what it counted before is nothing new.
void AddPart(std::string& parts, unsigned link) {
  parts += fmt::format("{}{}", parts.empty() ? "" : " ", link);
}

// Adds the counters of all links up; the text beside the sum names the link that has most.
void ReadLinkErrors(const NvmlFunctions& call, nvml::Device gpu, const char* name,
                    std::initializer_list<int> counters, Signs& signs) {
  unsigned long long all = 0, most = 0;
  unsigned worst = 0;
  std::string parts;
  for (unsigned link = 0; link < nvml::kNvLinksMax; ++link) {
    unsigned long long own = 0;
    bool any = false;
    for (const int counter : counters) {
      unsigned long long errors = 0;
      const int result = call.nvlink_errors(gpu, link, counter, &errors);
      if (IsMissing(result)) continue;
      // The one that cannot be asked may be the bad one.
      if (!signs.Has(result, name)) return;
      any = true;
      own += errors;
    }
    if (any) AddPart(parts, link);
    all += own;
    if (own <= most) continue;
    most = own;
    worst = link;
  }
  if (parts.empty()) return;
  Sign& sign = signs.Add(name, static_cast<double>(all));
  sign.parts = std::move(parts);
  if (most > 0) sign.raw += fmt::format(", {} of them on link {}", most, worst);
}

// A number of a field, whichever type it has.
double NumberIn(const nvml::FieldValue& field) {
  constexpr int kDouble = 0, kUnsigned = 1;
  if (field.value_type == kDouble) return field.value.as_double;
  if (field.value_type == kUnsigned) return field.value.as_unsigned;
  return static_cast<double>(field.value.as_long);
}

// nullopt where it is none: what has no whole number, or one past what is packed into it.
std::optional<double> ErrorRateIn(const nvml::FieldValue& field) {
  const double number = NumberIn(field);
  constexpr double kPast = 18446744073709551616.0;  // 2^64
  if (!(number >= 0 && number < kPast)) return std::nullopt;
  const auto packed = static_cast<unsigned long long>(number);
  const unsigned long long exponent = packed & nvml::kErrorRateExponent;
  if (exponent == nvml::kErrorRateNone) return 0;
  const unsigned long long mantissa =
      (packed >> nvml::kErrorRateMantissaShift) & nvml::kErrorRateMantissa;
  // Divided, so that 1e-12 is what a rule's 1e-12 is.
  return static_cast<double>(mantissa) / std::pow(10.0, static_cast<double>(exponent));
}

// A counter that NVML has for each link since NVLink 5, in the place of the counters above: those
// of all links are added up, of error rates the worst counts.
struct LinkField {
  unsigned id;
  const char* sign;
  bool is_rate = false;
};
constexpr LinkField kLinkFields[] = {
    {nvml::kFieldLinkReceiveErrors, "nvlink-receive-errors"},
    {nvml::kFieldLinkRecoveries, "nvlink-recoveries"},
    {nvml::kFieldLinkRecoveriesFailed, "nvlink-recoveries-failed"},
    {nvml::kFieldLinkEffectiveErrors, "nvlink-bit-errors"},
    {nvml::kFieldLinkEffectiveErrorRate, "nvlink-bit-error-rate", true},
    {nvml::kFieldLinkSymbolErrors, "nvlink-symbol-errors"},
    {nvml::kFieldLinkSymbolErrorRate, "nvlink-symbol-error-rate", true}};

// One sign, of the values of all links.
void AddLinkField(const LinkField& field, const std::vector<nvml::FieldValue>& values,
                  Signs& signs) {
  double all = 0, most = 0;
  unsigned worst = 0;
  std::string parts;
  for (const nvml::FieldValue& value : values) {
    if (value.field_id != field.id || IsMissing(value.result)) continue;
    // The one that cannot be asked may be the bad one.
    if (!signs.Has(value.result, field.sign)) return;
    AddPart(parts, value.scope_id);
    const std::optional<double> own = field.is_rate ? ErrorRateIn(value) : NumberIn(value);
    if (!own)
      return signs.AddError(field.sign, fmt::format("link {} gives no error rate", value.scope_id));
    all += *own;
    if (*own <= most) continue;
    most = *own;
    worst = value.scope_id;
  }
  if (parts.empty()) return;
  Sign& sign = signs.Add(field.sign, field.is_rate ? most : all);
  sign.parts = std::move(parts);
  if (most <= 0) return;
  sign.raw += field.is_rate ? fmt::format(", of link {}", worst)
                            : fmt::format(", {} of them on link {}", NumberText(most), worst);
}

void ReadLinkFields(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  std::vector<nvml::FieldValue> values;
  for (unsigned link = 0; link < nvml::kNvLinksMax; ++link) {
    for (const LinkField& field : kLinkFields) {
      nvml::FieldValue value{};
      value.field_id = field.id;
      value.scope_id = link;
      value.result = nvml::kNotSupported;
      values.push_back(value);
    }
  }
  const int all = call.field_values(gpu, static_cast<int>(values.size()), values.data());
  // Refused as a whole, as by the library or the GPU: the fields that were read before show it.
  if (all != nvml::kSuccess) return;
  for (const LinkField& field : kLinkFields) {
    if (!signs.Shows(field.sign)) AddLinkField(field, values, signs);
  }
}

void ReadLinkCounters(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  ReadLinkErrors(call, gpu, "nvlink-replays", {nvml::kNvLinkReplays}, signs);
  ReadLinkErrors(call, gpu, "nvlink-recoveries", {nvml::kNvLinkRecoveries}, signs);
  ReadLinkErrors(call, gpu, "nvlink-crc-errors", {nvml::kNvLinkCrcOfFlits, nvml::kNvLinkCrcOfData},
                 signs);
  ReadLinkFields(call, gpu, signs);
}

void ReadFabric(const NvmlFunctions& call, nvml::Device gpu, Signs& signs) {
  nvml::FabricInfo fabric{};
  if (signs.Has(call.fabric_info(gpu, &fabric), "fabric-ready") &&
      fabric.state != nvml::kFabricNotSupported) {
    signs.Add("fabric-ready",
              fabric.state == nvml::kFabricCompleted && fabric.status == nvml::kSuccess);
  }
}

}  // namespace

std::vector<Sign> NvmlLibrary::Read(const NvmlGpu& gpu, NvmlDepth depth) {
  if (!Ready()) return {Mismatch()};
  const NvmlFunctions& call = *functions_;
  Signs signs;
  nvml::Device handle = gpu.handle;
  // The GPU was found by the module alone, while the versions did not match.
  if (handle == nullptr &&
      !signs.Needs(call.by_address(gpu.pci_address.c_str(), &handle), "nvml")) {
    if (signs.mismatch()) return {Mismatch()};
    return std::move(signs).Take();
  }
  ReadTemperature(call, handle, signs);
  ReadClocksAndPower(call, handle, signs);
  ReadMemoryErrors(call, handle, signs);
  ReadFields(call, handle, signs);
  ReadPcie(call, handle, signs);
  if (ReadNvLink(call, handle, signs)) ReadLinkCounters(call, handle, signs);
  ReadFabric(call, handle, signs);
  if (depth == NvmlDepth::kAll) {
    const int inforom = call.validate_inforom(handle);
    const bool broken = inforom == nvml::kCorruptedInforom;
    if (broken || signs.Has(inforom, "inforom-broken")) signs.Add("inforom-broken", broken);
  }
  if (signs.mismatch()) return {Mismatch()};
  return std::move(signs).Take();
}

}  // namespace galen::probes
