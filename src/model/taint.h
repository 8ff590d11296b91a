// A DRA device taint (KEP-5055): keeps new claims away from a device, or evicts its holders.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace galen {

enum class TaintEffect { kNone, kNoSchedule, kNoExecute };
std::string_view ToString(TaintEffect effect);
TaintEffect ParseTaintEffect(
    std::string_view text);  // an unknown effect acts as None, by the API's rule

struct DeviceTaint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNone;
  std::optional<WallTime> added;

  auto operator<=>(const DeviceTaint&) const = default;
};

}  // namespace galen
