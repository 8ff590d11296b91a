// A DRA device taint (KEP-5055): keeps new claims away from a device, or evicts its holders. A
// value. A driver puts taints into its ResourceSlices; an operator or a controller gives them by a
// DeviceTaintRule. All that apply add up.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace galen {

// kNone has no effect and is only shown. kNoSchedule keeps new allocations away unless they
// tolerate it. kNoExecute also has the cluster's eviction controller delete Pods that hold the
// device and do not tolerate it; it asks no PodDisruptionBudget.
enum class TaintEffect { kNone, kNoSchedule, kNoExecute };
std::string_view ToString(TaintEffect effect);
// Reads what ToString writes, exactly. Any other text is kNone: by the API's rule an effect that a
// reader does not know does nothing.
TaintEffect ParseTaintEffect(std::string_view text);

// key: a label's name, by custom below the giver's domain ("fpga.example.com/flashing"). value: a
// label's value or "". added: when the effect began, from which a claim's tolerationSeconds count;
// nullopt: the API server fills it in.
struct DeviceTaint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNone;
  std::optional<WallTime> added;

  auto operator<=>(const DeviceTaint&) const = default;
};

}  // namespace galen
