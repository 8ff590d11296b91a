#include "alloc/selection/share.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/status.h"

namespace galen::alloc {
namespace {

constexpr std::int64_t kIntegerMax = std::numeric_limits<std::int64_t>::max();
constexpr __int128 kNanoPerUnit = 1'000'000'000;
constexpr __int128 kNanoPerThousandth = 1'000'000;
// Before, what cannot be computed was skipped or wrong, never an error.
constexpr int kShareErrorsMinor = 37;

const Quantity* FindAmount(const NamedQuantities* amounts, const std::string& name) {
  if (amounts == nullptr) return nullptr;
  const auto at = std::lower_bound(
      amounts->begin(), amounts->end(), name,
      [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
  return at == amounts->end() || at->first != name ? nullptr : &at->second;
}

// In whole units, what is between them away from zero, as Quantity.Value of upstream.
__int128 WholeUnits(const Quantity& quantity) {
  const __int128 nano = quantity.nano();
  const __int128 units = nano / kNanoPerUnit;
  const __int128 rest = nano % kNanoPerUnit;
  return rest == 0 ? units : units + (rest > 0 ? 1 : -1);
}

// Whether steps are counted in thousandths.
bool CountsMilli(const CapacityRange& range, const Options& options) {
  if (!options.features.fractional_capacity_range) return false;
  for (const auto* bound : {&range.min, &range.max, &range.step}) {
    if (*bound && !(*bound)->AsMilli()) return false;
  }
  return !range.step || *range.step->AsMilli() >= 1;
}

Status NotRepresentable(const Quantity& requested) {
  return InvalidArgument("request {} cannot be counted in the steps of the device; ask for less",
                         ToString(requested));
}

StatusOr<Quantity> RoundMilli(const Quantity& requested, const CapacityRange& range) {
  const auto wanted = requested.AsMilli();
  if (!wanted) return NotRepresentable(requested);
  const __int128 step = *range.step->AsMilli();
  const __int128 min = *range.min->AsMilli();
  const __int128 added = *wanted - min;
  const __int128 value = min + step * ((added + step - 1) / step);
  if (value > kIntegerMax) return NotRepresentable(requested);
  return Quantity::OfNano(value * kNanoPerThousandth, range.step->format());
}

StatusOr<Quantity> RoundWhole(const Quantity& requested, const CapacityRange& range,
                              const Options& options) {
  const __int128 step = WholeUnits(*range.step);
  const __int128 min = WholeUnits(*range.min);
  if (step == 0) return InvalidArgument("step of 0; the driver has to publish one above it");
  const __int128 added = WholeUnits(requested) - min;
  const __int128 value = min + step * (added / step + (added % step != 0 ? 1 : 0));
  if (value > kIntegerMax && min >= 0) return NotRepresentable(requested);
  const Quantity::Format format =
      options.minor >= kShareErrorsMinor ? range.step->format() : Quantity::Format::kBinary;
  return Quantity::OfNano(value * kNanoPerUnit, format);
}

StatusOr<Quantity> RoundToRange(const Quantity& requested, const CapacityRange& range,
                                const Options& options) {
  if (requested < *range.min) return *range.min;
  if (!range.step) return requested;
  return CountsMilli(range, options) ? RoundMilli(requested, range)
                                     : RoundWhole(requested, range, options);
}

Quantity RoundToValue(const Quantity& requested, const std::vector<Quantity>& values) {
  for (const Quantity& value : values) {
    if (requested <= value) return value;
  }
  return requested;
}

bool IsRounded(const DeviceCapacity& capacity, const Quantity* requested) {
  const auto* range =
      capacity.policy && capacity.policy->valid_range ? &*capacity.policy->valid_range : nullptr;
  return requested != nullptr && range != nullptr && range->min && range->step &&
         *requested >= *range->min;
}

StatusOr<Quantity> AmountFor(const DeviceCapacity& capacity, const Quantity* requested,
                             const Options& options) {
  const RequestPolicy* policy = capacity.policy ? &*capacity.policy : nullptr;
  if (requested == nullptr)
    return policy != nullptr && policy->otherwise ? *policy->otherwise : capacity.value;
  if (policy == nullptr) return *requested;
  if (policy->valid_range && policy->valid_range->min)
    return RoundToRange(*requested, *policy->valid_range, options);
  if (!policy->valid_values.empty()) return RoundToValue(*requested, policy->valid_values);
  return *requested;
}

bool IsOffStep(const Quantity& consumed, const CapacityRange& range, const Options& options) {
  if (!range.step || !range.min) return false;
  if (!CountsMilli(range, options)) {
    const __int128 step = WholeUnits(*range.step);
    return step == 0 || (WholeUnits(consumed) - WholeUnits(*range.min)) % step != 0;
  }
  const auto milli = consumed.AsMilli();
  return !milli || (*milli - *range.min->AsMilli()) % *range.step->AsMilli() != 0;
}

// Whatever the policy says else, its default is allowed. Upstream compares how both are written:
// what was rounded is not written at all.
bool ViolatesPolicy(const Quantity& consumed, bool rounded, const RequestPolicy& policy,
                    const Options& options) {
  if (!rounded && policy.otherwise && consumed == *policy.otherwise &&
      consumed.format() == policy.otherwise->format())
    return false;
  if (policy.valid_range) {
    const auto& max = policy.valid_range->max;
    return (max && consumed > *max) || IsOffStep(consumed, *policy.valid_range, options);
  }
  const auto& values = policy.valid_values;
  return !values.empty() && std::find(values.begin(), values.end(), consumed) == values.end();
}

// Amounts are added without a bound of their own: nothing read is beyond 2^63.
Share::Verdict VerdictOf(const DeviceCapacity& capacity, const Quantity& consumed,
                         const Quantity* held, const Quantity* taking) {
  __int128 sum = consumed.nano();
  if (held != nullptr) sum += held->nano();
  if (taking != nullptr) sum += taking->nano();
  return sum > capacity.value.nano() ? Share::Verdict::kTooMuch : Share::Verdict::kFits;
}

bool NamesMissing(const std::vector<DeviceCapacity>& capacity, const NamedQuantities* requested) {
  if (requested == nullptr) return false;
  return std::any_of(requested->begin(), requested->end(), [&capacity](const auto& request) {
    return std::none_of(capacity.begin(), capacity.end(),
                        [&request](const auto& known) { return known.name == request.first; });
  });
}

Share ShareError(const DeviceCapacity& capacity, const std::string& why) {
  return {.verdict = Share::Verdict::kError,
          .error = fmt::format("capacity {}: {}", capacity.name, why)};
}

}  // namespace

Share ComputeShare(const std::vector<DeviceCapacity>& capacity, const NamedQuantities* requested,
                   const NamedQuantities* held, const NamedQuantities* taking,
                   const Options& options) {
  if (NamesMissing(capacity, requested)) return {.verdict = Share::Verdict::kMissing};
  Share share;
  const bool strict = options.minor >= kShareErrorsMinor;
  // All are computed before any is compared: an error comes before a refusal.
  for (const DeviceCapacity& known : capacity) {
    auto consumed = AmountFor(known, FindAmount(requested, known.name), options);
    if (!consumed.ok() && !strict) return {.verdict = Share::Verdict::kPolicy};
    if (!consumed.ok()) return ShareError(known, consumed.status().message());
    if (strict && consumed->Sign() < 0)
      return ShareError(known, "is negative; the driver or the claim has to be corrected");
    share.consumed.emplace_back(known.name, *consumed);
  }
  for (std::size_t i = 0; i < capacity.size(); ++i) {
    const std::string& name = capacity[i].name;
    const Quantity& consumed = share.consumed[i].second;
    const bool rounded = IsRounded(capacity[i], FindAmount(requested, name));
    if (capacity[i].policy && ViolatesPolicy(consumed, rounded, *capacity[i].policy, options)) {
      share.verdict = Share::Verdict::kPolicy;
      return share;
    }
    share.verdict =
        VerdictOf(capacity[i], consumed, FindAmount(held, name), FindAmount(taking, name));
    if (share.verdict != Share::Verdict::kFits) return share;
  }
  return share;
}

}  // namespace galen::alloc
