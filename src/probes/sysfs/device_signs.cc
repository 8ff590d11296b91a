// Tested by sysfs_probe_test.cc.
#include "probes/sysfs/device_signs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "probes/rules/sign.h"
#include "probes/sysfs/file_pattern.h"

namespace galen::probes {

Sign DeviceSigns::MakeSign(std::string_view name, WallTime now) const {
  Sign sign;
  sign.device = device_.name;
  sign.name = name;
  sign.time = now;
  const SignSpec* spec = rules_->FindSign(name);
  if (spec != nullptr) sign.unit = spec->unit;
  const bool seldom = spec != nullptr && spec->file && spec->file->every > Duration::zero();
  if (seldom) sign.look = Sign::Look::kSeldom;
  return sign;
}

Sign DeviceSigns::MakeUnknown(const std::string& name, const std::string& error, WallTime now) {
  unknown_.insert(name);
  Sign sign = MakeSign(name, now);
  sign.error = error;
  return sign;
}

std::vector<Sign> DeviceSigns::Unknown(std::string_view sign, const std::string& error,
                                       WallTime now) {
  std::vector<Sign> signs;
  if (!sign.empty()) signs.push_back(MakeUnknown(std::string(sign), error, now));
  // Signs that come after the one that hangs are not read, either.
  const std::string behind = sign.empty() ? error : "not read, because " + error;
  for (const auto& [name, last] : last_) {
    if (name != sign) signs.push_back(MakeUnknown(name, behind, now));
  }
  return signs;
}

void DeviceSigns::Take(const DeviceLook& look, const Instant& at, std::vector<Sign>& signs) {
  const WallTime now = at.wall;
  Sign present = MakeSign("present", now);
  present.value = look.present ? 1.0 : 0.0;
  if (!look.present) present.raw = fmt::format("sysfs: no directory {}", device_.path);
  signs.push_back(std::move(present));
  const std::optional<Time> gone = gone_;
  gone_ = look.present ? std::nullopt : std::optional(at.now);
  if (!look.present) {
    for (Sign& sign : Unknown("", "its directory is gone", now)) signs.push_back(std::move(sign));
    return;
  }
  if (gone) {
    // Counters begin anew, and what was found of the device before it left is over. It came back
    // some time since it was last seen to be gone: what the kernel's log said of it since then is
    // of the device that is back, and stays.
    last_.clear();
    // By the wall clock of now: it may have been set meanwhile.
    Sign reset = MakeSign("reset", now - (at.now - *gone));
    reset.value = "device";
    reset.raw = fmt::format("sysfs: {} is back", device_.path);
    signs.push_back(std::move(reset));
  }
  for (const SignReading& reading : look.readings) TakeReading(reading, now, signs);
  // Signs that are read more seldom are still as they were: silence would make the device unknown.
  for (auto& [name, last] : last_) {
    if (std::exchange(last.read, false)) continue;
    signs.push_back(last.sign);
    // Not a second reading, which alone could confirm the first.
    signs.back().look = Sign::Look::kAgain;
  }
}

bool DeviceSigns::IsSum(const SignReading& reading) const {
  const SignSpec* spec = rules_->FindSign(reading.sign);
  return spec != nullptr && spec->file && spec->file->several == Several::kSum;
}

std::string DeviceSigns::MissingPart(const Last& last, const SignReading& reading) {
  const auto missing = std::ranges::find_if(
      reading.silent, [&last](const std::string& file) { return last.parts.contains(file); });
  return missing == reading.silent.end() ? "" : *missing;
}

void DeviceSigns::TakeParts(Last& last, const SignReading& reading) const {
  const std::map<std::string, double> now(reading.parts.begin(), reading.parts.end());
  const auto is_left = [&now](const auto& part) { return now.contains(part.first); };
  // All of them under other names, as after a driver was loaded anew: another sum.
  const bool is_another = !last.parts.empty() && std::ranges::none_of(last.parts, is_left);
  if (IsSum(reading) && !is_another) {
    for (const auto& part : last.parts) {
      if (!is_left(part)) last.removed.insert(part);
    }
    // What is there again may have counted anything meanwhile: the counter begins anew.
    last.returns += static_cast<int>(std::erase_if(last.removed, is_left));
  }
  if (is_another || last.removed.size() > kFoundPathsMax) {
    last.removed.clear();
    ++last.returns;
  }
  last.parts = now;
  double removed = 0;
  std::map<std::string, double> all = now;
  for (const auto& part : last.removed) {
    removed += part.second;
    all.insert(part);
  }
  last.sign.value = *reading.value + removed;
  last.sign.raw = "sysfs: " + reading.raw;
  if (!last.removed.empty()) {
    last.sign.raw += fmt::format(", {} of files that were removed", NumberText(removed));
  }
  last.sign.parts = fmt::format("{}", fmt::join(std::views::keys(all), " "));
  if (last.returns > 0) last.sign.parts += fmt::format(" {}", last.returns);
}

void DeviceSigns::TakeReading(const SignReading& reading, WallTime now, std::vector<Sign>& signs) {
  const auto known = last_.find(reading.sign);
  Last* last = known == last_.end() ? nullptr : &known->second;
  if (last != nullptr) last->read = true;
  std::string error = reading.error;
  // A file that this device never had is not a sign of it. One that it had is missed, and so is its
  // limit: without it no rule matches, and a fault would seem to be over.
  if (error.empty() && last != nullptr && !reading.value) {
    error = reading.outside ? fmt::format("it is {} now, past the sign's least or most",
                                          NumberText(*reading.outside))
                            : "the kernel gives no value any more";
  }
  if (error.empty() && last != nullptr && last->sign.expected && !reading.expected) {
    error = "the kernel gives no limit for it any more";
  }
  if (error.empty() && last != nullptr && IsSum(reading)) {
    const std::string missing = MissingPart(*last, reading);
    if (!missing.empty()) error = fmt::format("{}, which it added up, has no value now", missing);
  }
  if (!error.empty()) {
    Sign sign = MakeUnknown(reading.sign, error, now);
    if (last != nullptr) {
      sign.expected = last->sign.expected;
      last->sign = sign;
    }
    signs.push_back(std::move(sign));
    return;
  }
  const bool was_unknown = unknown_.erase(reading.sign) > 0;
  if (reading.value) {
    if (last == nullptr) {
      last = &last_.emplace(reading.sign, Last{MakeSign(reading.sign, now), true}).first->second;
    }
    last->sign.time = now;
    last->sign.error.clear();
    last->sign.expected = reading.expected;
    TakeParts(*last, reading);
    signs.push_back(last->sign);
  } else if (was_unknown) {
    signs.push_back(MakeSign(reading.sign, now));
    signs.back().absent = true;
  }
}

}  // namespace galen::probes
