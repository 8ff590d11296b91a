// Tested by search_test.cc.
#include "alloc/selection/allocator.h"

#include <set>
#include <utility>

#include "alloc/selection/result.h"

namespace galen::alloc {

Outcome::Verdict Allocator::Ask(const Node& node) {
  view_ = nullptr;
  message_.clear();
  if (!demand_.refused.ok()) {
    message_ = demand_.refused.message();
    return Outcome::Verdict::kError;
  }
  auto view = inventory_.ViewOf(node, memo_.pools());
  if (!view.ok()) {
    message_ = view.status().message();
    return Outcome::Verdict::kError;
  }
  view_ = *view;
  switch (search_.Run(*view_, node)) {
    case SearchEnd::kFound:
      return Outcome::Verdict::kFits;
    case SearchEnd::kNotFound:
      if (!view_->has_invalid_pool) return Outcome::Verdict::kDoesNotFit;
      message_ = "nothing fits, and pools of the node are invalid; look at their drivers";
      return Outcome::Verdict::kNodeError;
    case SearchEnd::kError:
      message_ = search_.error();
      // Then it may be no error of upstream's.
      return memo_.exhausted() ? Outcome::Verdict::kCannotTell : Outcome::Verdict::kError;
    case SearchEnd::kStepsSpent:
      break;
  }
  message_ = "there are too many combinations to try";
  return Outcome::Verdict::kCannotTell;
}

Outcome::Verdict Allocator::Check(const Node& node) { return Ask(node); }

Outcome Allocator::Allocate(const Node& node) {
  Outcome outcome{.verdict = Ask(node)};
  if (outcome.verdict == Outcome::Verdict::kFits) {
    const ResultSource source{inventory_, demand_, *view_, search_, node};
    for (std::uint32_t claim = 0; claim < demand_.claims.size(); ++claim) {
      auto allocation = MakeAllocation(source, claim);
      if (!allocation.ok())
        return {.verdict = Outcome::Verdict::kError, .message = allocation.status().message()};
      outcome.allocations.push_back(std::move(allocation).value());
    }
  }
  outcome.message = message_;
  return outcome;
}

std::vector<Allocator::Refusal> Allocator::Refusals() const {
  std::vector<Refusal> refusals;
  if (view_ == nullptr) return refusals;
  for (std::uint32_t slot = 0; slot < demand_.slots.size(); ++slot) {
    for (std::uint32_t i = 0; i < view_->candidates.size(); ++i) {
      const Reason reason = search_.ReasonOf(slot, i);
      if (reason != Reason::kNone)
        refusals.push_back({.slot = slot, .entry = view_->candidates[i].entry, .reason = reason});
    }
  }
  return refusals;
}

std::vector<std::uint32_t> Allocator::Reached() const {
  std::vector<std::uint32_t> entries;
  if (view_ == nullptr) return entries;
  for (const Candidate& candidate : view_->candidates) entries.push_back(candidate.entry);
  return entries;
}

std::vector<std::uint32_t> Allocator::InBrokenPools() const {
  std::set<std::uint32_t> slices;
  if (view_ != nullptr) {
    for (const PoolView* pool : view_->pools) {
      if (!pool->incomplete && !pool->invalid) continue;
      const auto& group = inventory_.groups()[pool->group].slices;
      slices.insert(group.begin(), group.end());
    }
  }
  std::vector<std::uint32_t> entries;
  for (const std::uint32_t slice : slices) {
    for (std::uint32_t i = 0; i < inventory_.slices()[slice].devices.size(); ++i)
      entries.push_back(inventory_.FirstEntryOf(slice) + i);
  }
  return entries;
}

}  // namespace galen::alloc
