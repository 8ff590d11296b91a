#include <algorithm>
#include <utility>

#include "alloc/selection/search.h"

namespace galen::alloc {
namespace {

void AddAmounts(NamedQuantities& sum, const NamedQuantities& amounts) {
  if (sum.empty()) {
    sum = amounts;
    return;
  }
  // Both are by the capacities of one device, in their order.
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i].second = sum[i].second + amounts[i].second;
}

void SubtractAmounts(NamedQuantities& sum, const NamedQuantities& amounts) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i].second = sum[i].second - amounts[i].second;
}

}  // namespace

void Search::Take(const Slot& slot, std::uint32_t candidate) {
  const DeviceEntry& entry = EntryOf(candidate);
  Taken taken{.slot = slot.number, .candidate = candidate, .shared = IsShareable(entry)};
  if (entry.consumes_counters && !ChargesNothingMore(candidate)) {
    taken.charged = true;
    Charge(candidate, 1);
  }
  const ClaimPlan& plan = demand_.claims[slot.claim];
  for (const std::uint32_t i : slot.constraints) {
    constraints_[slot.claim][i].push_back(
        inventory_.ValueOf(view_->candidates[candidate].entry, plan.constraints[i].name));
  }
  if (taken.shared)
    TakeShare(slot, candidate, taken);
  else
    ++is_taken_[candidate];
  taken_[slot.claim].push_back(std::move(taken));
}

void Search::TakeShare(const Slot& slot, std::uint32_t candidate, Taken& taken) {
  const NamedQuantities* requested = slot.wish->capacity ? &*slot.wish->capacity : nullptr;
  taken.consumed =
      ComputeShare(EntryOf(candidate).device->capacity, requested, nullptr, nullptr, options_)
          .consumed;
  if (sharing_of_[candidate] == kUnshared) {
    sharing_of_[candidate] = static_cast<std::uint32_t>(sharings_.size());
    sharings_.emplace_back();
  }
  Sharing& sharing = sharings_[sharing_of_[candidate]];
  ++sharing.count;
  AddAmounts(sharing.sum, taken.consumed);
}

// The last device taken, in the reverse order.
void Search::Undo(const Slot& slot) {
  const Taken taken = std::move(taken_[slot.claim].back());
  taken_[slot.claim].pop_back();
  if (taken.shared)
    UndoShare(taken);
  else
    --is_taken_[taken.candidate];
  for (const std::uint32_t i : slot.constraints) constraints_[slot.claim][i].pop_back();
  if (taken.charged) Charge(taken.candidate, -1);
}

void Search::UndoShare(const Taken& taken) {
  Sharing& sharing = sharings_[sharing_of_[taken.candidate]];
  --sharing.count;
  SubtractAmounts(sharing.sum, taken.consumed);
}

void Search::Charge(std::uint32_t candidate, int sign) {
  const Candidate& device = view_->candidates[candidate];
  if (device.use == nullptr) return;
  Counters& counters = CountersOf(device.pool);
  for (const CounterUse::Charge& charge : device.use->charges)
    counters.left[charge.counter] -= sign * charge.amount;
}

}  // namespace galen::alloc
