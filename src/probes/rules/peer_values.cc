#include <algorithm>

#include "probes/rules/rule.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {

void PeerValues::Settle() {
  std::ranges::sort(values_);
  known_ = true;
}

std::optional<double> PeerValues::MedianOfOthers(double own) const {
  const auto found = std::ranges::lower_bound(values_, own);
  // A device whose value is not among them is compared with nobody.
  if (found == values_.end() || *found != own) return std::nullopt;
  const auto self = static_cast<std::size_t>(found - values_.begin());
  const std::size_t others = values_.size() - 1;
  if (others < kPeersLeast) return std::nullopt;
  const auto other = [&](std::size_t place) { return values_[place < self ? place : place + 1]; };
  const double upper = other(others / 2);
  const double median = others % 2 == 1 ? upper : (other(others / 2 - 1) + upper) / 2;
  return median > 0 ? std::optional(median) : std::nullopt;
}

}  // namespace galen::probes
