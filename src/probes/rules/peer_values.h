// What the devices of one model show of one sign at present, so that each can be held against the
// others. Filled anew by its owner when something came; keeps its memory, so that it asks for none
// once all devices have been seen.
#pragma once

#include <optional>
#include <vector>

namespace galen::probes {

class PeerValues {
 public:
  // What was filled in counts no longer.
  void Forget() { known_ = false; }
  // Whether Fill is due.
  bool is_forgotten() const { return !known_; }
  // Begins to fill; then Add for each device, then Settle.
  void Clear() { values_.clear(); }
  void Add(double value) { values_.push_back(value); }
  void Settle();

  // The median of all but one device, which shows `own`: the mean of the two in the middle where
  // their number is even. nullopt when the others are fewer than kPeersLeast, or when it is not
  // above zero, so that no share of it has a meaning. REQUIRES: settled.
  std::optional<double> MedianOfOthers(double own) const;

 private:
  std::vector<double> values_;  // in order
  bool known_ = false;
};

}  // namespace galen::probes
