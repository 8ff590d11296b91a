#include "probes/simulator/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "probes/rules/sign_value.h"

namespace galen::probes {
namespace {

// PCI has five bits for the slot.
constexpr int kSlotsPerBus = 32;
// Temperature and power vary from reading to reading; counts and negotiated values do not.
bool Wobbles(std::string_view unit) { return unit == "°C" || unit == "W"; }

Sign MakeSign(const SimulatedGpu& device, std::string_view name, WallTime time) {
  Sign sign;
  sign.device = device.name;
  sign.name = name;
  sign.time = time;
  return sign;
}

}  // namespace

GpuSimulator::GpuSimulator(Loop& loop, Random random, const RuleTable& table, int count)
    : loop_(loop), random_(random), table_(table) {
  GALEN_CHECK(count >= 1 && count <= kCountMax);
  for (const Rule& rule : table_.rules) {
    const auto* comparison = std::get_if<Comparison>(&rule.match);
    // Only a rule that asks for the best value needs a device that has one.
    if (comparison == nullptr) continue;
    if (std::holds_alternative<Expected>(comparison->with)) has_best_.insert(rule.sign);
  }
  for (int i = 0; i < count; ++i) devices_.push_back(MakeDevice(i));
}

SimulatedGpu GpuSimulator::MakeDevice(int index) {
  SimulatedGpu device{
      .name = fmt::format("gpu-{}", index),
      .model = "H200",
      .serial = fmt::format("16539{:08}", random_.Below(100'000'000)),
      .uuid = "GPU-" + random_.Uuid(),
      .pci_address = fmt::format("0000:{:02x}:{:02x}.0", 0xff - index / kSlotsPerBus,
                                 kSlotsPerBus - 1 - index % kSlotsPerBus),
  };
  State& state = states_[device.name];
  for (const SignSpec& spec : table_.signs) {
    // Each card is in another place of the case, up to 4 % warmer than the next.
    if (!Wobbles(spec.unit)) continue;
    const std::optional<double> usual = NumberOf(Sign{.value = spec.usual});
    if (usual) state.own[spec.name] = std::round(*usual * (1 + 0.04 * random_.Fraction()));
  }
  return device;
}

Sign GpuSimulator::Reading(const SimulatedGpu& device, const SignSpec& spec) {
  Sign sign = MakeSign(device, spec.name, loop_.WallNow());
  const State& state = states_.find(device.name)->second;
  sign.unit = spec.unit;
  if (state.unreadable.contains(spec.name)) {
    sign.error = "the simulator hides it, as injected";
    return sign;
  }
  const double usual = NumberOf(Sign{.value = spec.usual}).value_or(0);
  if (has_best_.contains(spec.name)) sign.expected = usual;
  if (const auto injected = state.injected.find(spec.name); injected != state.injected.end()) {
    sign.value = injected->second;
    sign.raw = fmt::format("simulator: {} {}", spec.name, NumberText(injected->second));
    sign.detail = "as injected";
    if (!spec.unit.empty()) sign.raw += " " + spec.unit;
  } else if (const auto own = state.own.find(spec.name); own != state.own.end()) {
    // One step up or down, as a thermometer that is read again.
    sign.value = own->second + static_cast<double>(random_.Below(3)) - 1;
  } else {
    sign.value = usual;
  }
  return sign;
}

StatusOr<std::vector<Sign>> GpuSimulator::Observe() {
  std::vector<Sign> signs;
  for (const SimulatedGpu& device : devices_) {
    for (const SignSpec& spec : table_.signs) {
      if (spec.kind != SignKind::kEvent) signs.push_back(Reading(device, spec));
    }
  }
  return signs;
}

StatusOr<std::vector<Sign>> GpuSimulator::Inject(std::string_view device, std::string_view sign,
                                                 std::string_view value) {
  const SimulatedGpu* found = Find(device);
  if (found == nullptr) {
    return NotFound("no device '{}': there are {} to {}", Printable(CutText(device, 80)),
                    devices_.front().name, devices_.back().name);
  }
  if (sign == kReset) return InjectReset(found->name, value);
  if (sign == kUnreadable) return InjectUnreadable(*found, value);
  const SignSpec* spec = table_.FindSign(sign);
  if (spec == nullptr) {
    return NotFound("no sign '{}': there are {}", Printable(CutText(sign, 80)), SignNames());
  }
  ASSIGN_OR_RETURN(auto parsed, ParseSignValue(*spec, value));
  if (spec->kind == SignKind::kEvent) {
    Sign event = MakeSign(*found, sign, loop_.WallNow());
    event.value = std::move(parsed);
    event.raw = Printable(fmt::format("simulator: {} {}", sign, ValueText(event)));
    return std::vector<Sign>{std::move(event)};
  }
  states_[found->name].injected[spec->name] = std::get<double>(parsed);
  // A value was given, so it can be read again.
  states_[found->name].unreadable.erase(spec->name);
  return std::vector<Sign>{Reading(*found, *spec)};
}

StatusOr<std::vector<Sign>> GpuSimulator::InjectReset(const std::string& device,
                                                      std::string_view value) {
  if (!value.empty() && value != "gpu" && value != "host") {
    return InvalidArgument("'{}' cannot be reset: gpu or host", Printable(CutText(value, 80)));
  }
  // First the readings are well again, then the reset is reported: the other way round the engine
  // would find the old fault anew.
  states_[device].injected.clear();
  states_[device].unreadable.clear();
  const SimulatedGpu& found = *Find(device);
  std::vector<Sign> signs;
  for (const SignSpec& spec : table_.signs) {
    if (spec.kind != SignKind::kEvent) signs.push_back(Reading(found, spec));
  }
  Sign reset = MakeSign(found, kReset, loop_.WallNow());
  reset.value = std::string(value.empty() ? "host" : value);
  reset.raw = "simulator: reset";
  signs.push_back(std::move(reset));
  return signs;
}

StatusOr<std::vector<Sign>> GpuSimulator::InjectUnreadable(const SimulatedGpu& device,
                                                           std::string_view sign) {
  const SignSpec* spec = table_.FindSign(sign);
  if (spec == nullptr || spec->kind == SignKind::kEvent) {
    return NotFound("no sign '{}' that is read: there are {}", Printable(CutText(sign, 80)),
                    SignNames());
  }
  states_[device.name].unreadable.insert(spec->name);
  return std::vector<Sign>{Reading(device, *spec)};
}

const SimulatedGpu* GpuSimulator::Find(std::string_view device) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(),
                                  [device](const SimulatedGpu& gpu) { return gpu.name == device; });
  return found == devices_.end() ? nullptr : &*found;
}

std::string GpuSimulator::SignNames() const {
  std::string names;
  for (const SignSpec& spec : table_.signs) names += spec.name + ", ";
  return names + std::string(kUnreadable);
}

}  // namespace galen::probes
