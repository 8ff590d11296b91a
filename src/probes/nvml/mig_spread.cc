#include "probes/nvml/mig_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace galen::probes {
namespace {

// Whether a sign of this part is about the instance; one that names a GPU instance alone is about
// all compute instances in it.
bool IsAbout(const MigInstance& instance, std::string_view part) {
  const std::string gpu = fmt::format("{}", instance.gpu_instance);
  return part.empty() || part == gpu ||
         part == fmt::format("{}/{}", gpu, instance.compute_instance);
}

}  // namespace

void MigSpread::OnSigns(std::vector<Sign> signs) {
  std::vector<Sign> spread = Spread(std::move(signs));
  if (!spread.empty()) sink_.OnSigns(std::move(spread));
}

std::vector<Sign> MigSpread::Spread(std::vector<Sign> signs) const {
  std::vector<Sign> spread;
  for (Sign& sign : signs) {
    const auto cut = cuts_.find(sign.device);
    if (cut == cuts_.end()) {
      spread.push_back(std::move(sign));
      continue;
    }
    const std::vector<MigInstance>& instances = cut->second.instances;
    // An event of an unknown instance, such as one made since the last look, may be about any of
    // them: a fault of the hardware must not be lost.
    const bool known = std::ranges::any_of(
        instances, [&](const MigInstance& each) { return IsAbout(each, sign.part); });
    for (const MigInstance& instance : instances) {
      if (known && !IsAbout(instance, sign.part)) continue;
      spread.push_back(sign);
      spread.back().device = instance.device;
    }
    if (cut->second.whole) spread.push_back(std::move(sign));
  }
  return spread;
}

}  // namespace galen::probes
