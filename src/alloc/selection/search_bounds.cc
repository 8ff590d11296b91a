#include <algorithm>
#include <map>
#include <set>

#include "alloc/selection/search.h"

namespace galen::alloc {

// Bounds from above of how many devices the request can get, nothing of it being taken. Every
// device that fails alone fails in company, too: tests only get stricter with each device taken.
bool Search::CanSucceed(const Slot& slot) {
  steps_ += view_->candidates.size();
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t i = 0; i < view_->candidates.size(); ++i) {
    if (CheckExact(slot, i) == Reason::kNone && error_.empty()) candidates.push_back(i);
    // Not to be: each was looked at before. The search will find it again.
    if (!error_.empty()) {
      error_.clear();
      return true;
    }
  }
  const auto wanted = static_cast<std::size_t>(slot.count);
  return candidates.size() >= wanted && LargestMatch(slot, candidates) >= wanted &&
         MostDistinct(slot, candidates) >= wanted && MostByCounters(candidates) >= wanted;
}

// Whether a request cannot be met even where nothing else is taken. REQUIRES: nothing is taken.
// Where the whole search could end with an error, upstream may come to that first: then not. Twins
// are looked for under that condition alone; what is left is a result that becomes too large, and
// that only alternatives of the first claim can do (DoRequest).
bool Search::HasHopelessRequest() {
  if (kind_of_.empty()) FindTwins();
  if (kind_of_.empty()) return false;
  const auto is_single = [](const RequestPlan& request) { return request.slot_count == 1; };
  const std::vector<RequestPlan>& first = demand_.claims.front().requests;
  if (!std::all_of(first.begin(), first.end(), is_single)) return false;
  for (const ClaimPlan& claim : demand_.claims) {
    for (const RequestPlan& request : claim.requests) {
      const Slot& slot = demand_.slots[request.first_slot];
      if (!is_single(request) || slot.all || CanSucceed(slot)) continue;
      NoteRefusals(slot);
      return true;
    }
  }
  return false;
}

void Search::NoteRefusals(const Slot& slot) {
  for (std::uint32_t i = 0; i < view_->candidates.size(); ++i) Note(slot, i, CheckExact(slot, i));
}

// Devices of one request agree in all attributes of matchAttribute that apply. A list and an
// unknown kind agree with nothing: whoever has one stays alone, so that counting them like others
// is enough.
std::size_t Search::LargestMatch(const Slot& slot,
                                 const std::vector<std::uint32_t>& candidates) const {
  const ClaimPlan& plan = demand_.claims[slot.claim];
  std::map<Values, std::size_t> groups;
  std::size_t largest = 0;
  for (const std::uint32_t candidate : candidates) {
    Values values;
    for (const std::uint32_t i : slot.constraints) {
      if (plan.constraints[i].distinct) continue;
      values.push_back(
          inventory_.ValueOf(view_->candidates[candidate].entry, plan.constraints[i].name));
      // With their gate different lists agree in what they have in common.
      if (options_.features.list_attributes && !inventory_.interner().IsSingle(values.back()))
        return candidates.size();
    }
    largest = std::max(largest, ++groups[values]);
  }
  return largest;
}

std::size_t Search::MostDistinct(const Slot& slot,
                                 const std::vector<std::uint32_t>& candidates) const {
  const ClaimPlan& plan = demand_.claims[slot.claim];
  std::size_t most = candidates.size();
  for (const std::uint32_t i : slot.constraints) {
    if (!plan.constraints[i].distinct) continue;
    std::set<std::uint32_t> values;
    for (const std::uint32_t candidate : candidates)
      values.insert(
          inventory_.ValueOf(view_->candidates[candidate].entry, plan.constraints[i].name));
    most = std::min(most, values.size());
  }
  return most;
}

// A device belongs to one group, that of the first counter it is charged for (the counters of one
// physical device lie together); each counter bounds how many of its group fit.
std::size_t Search::MostByCounters(const std::vector<std::uint32_t>& candidates) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> groups;
  std::size_t most = 0;
  for (const std::uint32_t candidate : candidates) {
    const Candidate& device = view_->candidates[candidate];
    if (device.use == nullptr || device.use->charges.empty() || ChargesNothingMore(candidate))
      ++most;
    else
      groups[{device.pool, device.use->charges.front().counter}].push_back(candidate);
  }
  for (const auto& [key, group] : groups) most += MostOfGroup(CountersOf(key.first), group);
  return most;
}

// For each counter: the smallest charges first.
std::size_t Search::MostOfGroup(const Counters& counters,
                                const std::vector<std::uint32_t>& group) const {
  std::map<std::uint32_t, std::vector<Amount>> charges;
  for (const std::uint32_t candidate : group) {
    for (const CounterUse::Charge& charge : view_->candidates[candidate].use->charges)
      charges[charge.counter].push_back(charge.amount);
  }
  std::size_t most = group.size();
  for (auto& [counter, amounts] : charges) {
    std::sort(amounts.begin(), amounts.end());
    Amount left = counters.left[counter];
    std::size_t fits = group.size() - amounts.size();
    for (const Amount amount : amounts) {
      if (amount > left) break;
      left -= amount;
      ++fits;
    }
    most = std::min(most, fits);
  }
  return most;
}

}  // namespace galen::alloc
