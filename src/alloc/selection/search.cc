#include "alloc/selection/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace galen::alloc {
namespace {

// resource.k8s.io/v1: AllocationResultsMaxSize.
constexpr std::int64_t kResultsPerClaimMax = 32;

// What a search on a node takes that goes straight to its end, for each device and each request: a
// look at it, and one more when the devices run out.
constexpr std::uint64_t kFreeLooks = 4;

}  // namespace

SearchEnd Search::Run(const NodeView& view, const Node& node) {
  Reset(view, node);
  if (spent_ >= kNodesStepsFactor * options_.steps_max) return SearchEnd::kStepsSpent;
  Step step = Prepare();
  if (step == Step::kDone) step = Solve();
  const std::uint64_t free = kFreeLooks * demand_.slots.size() * view.candidates.size();
  if (steps_ > free) spent_ += steps_ - free;
  switch (step) {
    case Step::kDone:
      return SearchEnd::kFound;
    case Step::kFailed:
    case Step::kUnwind:
      return SearchEnd::kNotFound;
    case Step::kTooMany:
      error_ = "a claim would have more devices than a result can hold";
      return SearchEnd::kError;
    case Step::kError:
      return SearchEnd::kError;
    case Step::kSpent:
      return SearchEnd::kStepsSpent;
  }
  GALEN_UNREACHABLE();
}

void Search::Reset(const NodeView& view, const Node& node) {
  view_ = &view;
  node_ = &node;
  steps_ = calls_ = 0;
  error_.clear();
  const std::size_t count = view.candidates.size();
  reasons_.assign(demand_.slots.size() * count, Reason::kNone);
  is_taken_.assign(count, 0);
  node_fits_.assign(count, 0);
  sharing_of_.assign(count, kUnshared);
  sharings_.clear();
  counters_.resize(view.pools.size());
  for (Counters& counters : counters_) counters.known = false;
  constraints_.resize(demand_.claims.size());
  taken_.resize(demand_.claims.size());
  chosen_.resize(demand_.claims.size());
  all_.resize(demand_.slots.size());
  for (std::size_t i = 0; i < demand_.claims.size(); ++i) {
    constraints_[i].resize(demand_.claims[i].constraints.size());
    for (Values& values : constraints_[i]) values.clear();
    taken_[i].clear();
    chosen_[i].assign(demand_.claims[i].requests.size(), 0);
  }
  failures_ = 0;
  kind_of_.clear();
  failed_states_.clear();
}

// Most searches are short. When one is not, a request may be without hope, so that trying all
// choices for the others would be in vain.
Search::Step Search::Solve() {
  const bool stops = options_.cuts && options_.first_steps < options_.steps_max;
  steps_end_ = stops ? options_.first_steps : options_.steps_max;
  const Step step = DoClaim(0);
  if (step != Step::kSpent || !stops) return step;
  if (HasHopelessRequest()) return Step::kFailed;
  spent_ += steps_;
  steps_ = calls_ = 0;
  steps_end_ = options_.steps_max;
  return DoClaim(0);
}

Search::Step Search::Fail(std::string error) {
  error_ = std::move(error);
  return Step::kError;
}

// What upstream does for every claim before it searches: the devices of mode All, and the limit.
Search::Step Search::Prepare() {
  for (std::uint32_t claim = 0; claim < demand_.claims.size(); ++claim) {
    for (const RequestPlan& request : demand_.claims[claim].requests) {
      for (std::uint32_t i = 0; i < request.slot_count; ++i) {
        const Slot& slot = demand_.slots[request.first_slot + i];
        if (!slot.all) continue;
        const Step step = PrepareAll(slot);
        if (step != Step::kDone) return step;
      }
    }
    const Step step = CheckResultLimit(claim);
    if (step != Step::kDone) return step;
  }
  return Step::kDone;
}

Search::Step Search::PrepareAll(const Slot& slot) {
  std::vector<std::uint32_t>& list = all_[slot.number];
  list.clear();
  const std::string claim = ToString(*demand_.claims[slot.claim].claim);
  for (const PoolView* pool : view_->pools) {
    if (!pool->incomplete && !pool->invalid) continue;
    const PoolSlices& group = inventory_.groups()[pool->group];
    return Fail(fmt::format("claim {}, request {}: asks for all devices, but pool {}/{} is {}",
                            claim, slot.name, group.driver, group.pool,
                            pool->incomplete ? "incomplete" : "invalid"));
  }
  for (std::uint32_t i = 0; i < view_->candidates.size(); ++i) {
    const Reason reason = CheckSelectable(slot, i);
    if (!error_.empty()) return Step::kError;
    if (reason != Reason::kNone) {
      Note(slot, i, reason);
    } else if (FitsStatically(slot, i)) {
      list.push_back(i);
    } else if (!error_.empty()) {
      return Step::kError;
    }
  }
  return Step::kDone;
}

// Until 1.36 what others hold counts already here, so that a device without enough left is not one
// of all.
bool Search::FitsStatically(const Slot& slot, std::uint32_t candidate) {
  if (!options_.features.consumable_capacity) return true;
  const DeviceEntry& entry = EntryOf(candidate);
  if (options_.minor < kNewestMinor) {
    const Reason reason = CheckShare(slot, candidate);
    if (reason != Reason::kNone) Note(slot, candidate, reason);
    return reason == Reason::kNone;
  }
  const NamedQuantities* requested = slot.wish->capacity ? &*slot.wish->capacity : nullptr;
  if (requested == nullptr && entry.plain_capacity) return true;
  const Share share = ComputeShare(entry.device->capacity, requested, nullptr, nullptr, options_);
  if (share.verdict == Share::Verdict::kError)
    NoteError(fmt::format("request {}, device {}: {}", slot.name, entry.device->name, share.error));
  return share.verdict == Share::Verdict::kFits;
}

// The fewest devices that the claim's requests can come to.
Search::Step Search::CheckResultLimit(std::uint32_t claim) {
  std::int64_t planned = 0;
  for (const RequestPlan& request : demand_.claims[claim].requests) {
    std::int64_t fewest = INT64_MAX;
    for (std::uint32_t i = 0; i < request.slot_count; ++i) {
      const Slot& slot = demand_.slots[request.first_slot + i];
      const auto all = static_cast<std::int64_t>(all_[slot.number].size());
      fewest = std::min(fewest, slot.all ? all : slot.count);
    }
    if (fewest > kResultsPerClaimMax - planned)
      return Fail(fmt::format("claim {}, request {}: with it the claim has more than {} devices",
                              ToString(*demand_.claims[claim].claim), request.request->name,
                              kResultsPerClaimMax));
    planned += fewest;
  }
  return Step::kDone;
}

Search::Step Search::DoClaim(std::uint32_t claim) {
  if (claim < demand_.claims.size()) return DoRequest(claim, 0);
  ++calls_;
  return Step::kDone;
}

Search::Step Search::DoRequest(std::uint32_t claim, std::uint32_t request) {
  const ClaimPlan& plan = demand_.claims[claim];
  if (request == plan.requests.size()) {
    ++calls_;
    // Another choice for an earlier claim may leave room for an alternative of this one.
    const Step step = DoClaim(claim + 1);
    return step == Step::kTooMany ? Step::kFailed : step;
  }
  const Values state = StateOf(claim, request);
  if (!state.empty() && failed_states_.contains(state)) return Step::kFailed;
  const Step step = plan.requests[request].request->first_available
                        ? DoAlternatives(claim, request)
                        : DoSlot(demand_.slots[plan.requests[request].first_slot]);
  if (step == Step::kFailed && !state.empty()) failed_states_.insert(state);
  return step;
}

Search::Step Search::DoAlternatives(std::uint32_t claim, std::uint32_t request) {
  ++calls_;
  const RequestPlan& plan = demand_.claims[claim].requests[request];
  bool all_too_many = true;
  for (std::uint32_t i = 0; i < plan.slot_count; ++i) {
    const Step step = DoSlot(demand_.slots[plan.first_slot + i]);
    if (step == Step::kTooMany) continue;
    all_too_many = false;
    if (step == Step::kDone) chosen_[claim][request] = i;
    if (step != Step::kFailed) return step;
  }
  return all_too_many ? Step::kTooMany : Step::kFailed;
}

Search::Step Search::DoSlot(const Slot& slot) {
  if (!slot.all) return DoExact(slot);
  return DoAll(slot, 0);
}

bool Search::IsTooMany(const Slot& slot, std::int64_t remaining) const {
  return remaining > kResultsPerClaimMax - static_cast<std::int64_t>(taken_[slot.claim].size());
}

// There is no choice: each device of the list must be had.
Search::Step Search::DoAll(const Slot& slot, std::size_t index) {
  ++calls_;
  const std::vector<std::uint32_t>& list = all_[slot.number];
  if (list.empty()) return Step::kFailed;
  if (index == list.size()) return DoRequest(slot.claim, slot.request + 1);
  if (IsTooMany(slot, static_cast<std::int64_t>(list.size() - index))) return Step::kTooMany;
  if (++steps_ > steps_end_) return Step::kSpent;
  const Reason reason = CheckAll(slot, list[index]);
  if (!error_.empty()) return Step::kError;
  if (reason != Reason::kNone) {
    Note(slot, list[index], reason);
    return Step::kFailed;
  }
  Take(slot, list[index]);
  const Step step = DoAll(slot, index + 1);
  if (step != Step::kDone) Undo(slot);
  return step;
}

Search::Step Search::DoExact(const Slot& slot) {
  Attempt attempt{.slot = slot};
  const Step step = DoExactFrom(attempt, 0, 0);
  return step == Step::kUnwind ? Step::kFailed : step;
}

// Called when the request's devices ran out for the first time, so that every device that is not in
// use was looked at by now: no error is passed over. What it has taken is put back meanwhile.
bool Search::IsHopeless(Attempt& attempt, std::int64_t index) {
  if (!options_.cuts || attempt.bounded || attempt.completed || index == 0) return false;
  attempt.bounded = true;
  Values own;
  for (std::int64_t i = 0; i < index; ++i) {
    own.push_back(taken_[attempt.slot.claim].back().candidate);
    Undo(attempt.slot);
  }
  const bool hopeless = !CanSucceed(attempt.slot);
  for (auto candidate = own.rbegin(); candidate != own.rend(); ++candidate)
    Take(attempt.slot, *candidate);
  return hopeless;
}

Search::Step Search::DoExactFrom(Attempt& attempt, std::int64_t index, std::uint32_t start) {
  ++calls_;
  const Slot& slot = attempt.slot;
  if (index >= slot.count) {
    attempt.completed = true;
    return DoRequest(slot.claim, slot.request + 1);
  }
  if (IsTooMany(slot, slot.count - index)) return Step::kTooMany;
  Values failed;
  for (std::uint32_t i = start; i < view_->candidates.size(); ++i) {
    if (i >= view_->invalid_at) break;
    if (++steps_ > steps_end_) return Step::kSpent;
    if (IsTwinOfFailed(failed, i)) continue;
    const Reason reason = CheckExact(slot, i);
    if (!error_.empty()) return Step::kError;
    if (reason != Reason::kNone) {
      Note(slot, i, reason);
      continue;
    }
    Take(slot, i);
    const Step step = DoExactFrom(attempt, index + 1, i + 1);
    if (step == Step::kDone) return step;
    Undo(slot);
    if (step != Step::kFailed) return step;
    CountFailure();
    AddFailed(failed, i);
  }
  if (view_->invalid_at <= view_->candidates.size()) return Fail("a pool of the node is invalid");
  return IsHopeless(attempt, index) ? Step::kUnwind : Step::kFailed;
}

}  // namespace galen::alloc
