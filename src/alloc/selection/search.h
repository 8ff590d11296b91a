// The search for devices on one node: depth first, the first solution counts, the tests in
// upstream's order. Branches that cannot hold a solution are cut (docs/adr/0033), so that the
// result is upstream's. Kept from node to node for its memory; belongs to one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "alloc/selection/demand.h"
#include "alloc/selection/inventory.h"
#include "alloc/selection/reason.h"
#include "alloc/selection/selector_memo.h"
#include "alloc/selection/share.h"
#include "alloc/selection/usage.h"

namespace galen::alloc {

// A device that was chosen.
struct Taken {
  std::uint32_t slot = 0;
  std::uint32_t candidate = 0;
  bool charged = false;  // its counters
  bool shared = false;
  NamedQuantities consumed = {};  // of a share
};

// How a search ended.
enum class SearchEnd {
  kFound,
  kNotFound,
  kError,      // upstream ends the Pod's whole scheduling attempt
  kStepsSpent  // no verdict
};

class Search {
 public:
  // All outlive it.
  Search(const Inventory& inventory, const Usage& usage, const Demand& demand, SelectorMemo& memo)
      : inventory_(inventory),
        options_(inventory.options()),
        usage_(usage),
        demand_(demand),
        memo_(memo) {}
  Search(const Search&) = delete;

  // `view` and `node` are valid until the next Run. REQUIRES: demand.refused is OK. All runs of one
  // Search share a budget of steps, kNodesStepsFactor; when it is spent: kStepsSpent at once.
  SearchEnd Run(const NodeView& view, const Node& node);

  // After kFound: by claim, in the order of requests.
  const std::vector<std::vector<Taken>>& taken() const { return taken_; }
  // The alternative that was chosen; 0 for a request without alternatives.
  std::uint32_t ChosenOf(std::uint32_t claim, std::uint32_t request) const {
    return chosen_[claim][request];
  }
  // After kError: a sentence.
  const std::string& error() const { return error_; }
  Reason ReasonOf(std::uint32_t slot, std::uint32_t candidate) const {
    return reasons_[slot * view_->candidates.size() + candidate];
  }
  // As upstream counts its calls of allocateOne.
  std::uint64_t calls() const { return calls_; }

 private:
  enum class Step {
    kDone,
    kFailed,
    kTooMany,  // of results; ends more than one branch
    kError,
    kSpent,
    kUnwind  // the request cannot succeed, whichever devices come first
  };
  // One attempt at a request, everything before it being decided.
  struct Attempt {
    const Slot& slot;
    bool bounded = false;    // the bounds were looked at
    bool completed = false;  // all its devices were found once
  };
  // A device of which shares are taken in this search.
  struct Sharing {
    std::uint32_t count = 0;
    NamedQuantities sum = {};
  };
  struct Counters {
    bool known = false;
    std::vector<Amount> left;
    std::vector<std::uint32_t> overdrawn_before;  // counters below zero before each one
  };
  static constexpr std::uint32_t kUnshared = 0xffffffff;
  using Values = std::vector<std::uint32_t>;  // of a constraint's devices

  // search.cc
  void Reset(const NodeView& view, const Node& node);
  Step Solve();
  Step Prepare();
  Step PrepareAll(const Slot& slot);
  bool FitsStatically(const Slot& slot, std::uint32_t candidate);
  Step CheckResultLimit(std::uint32_t claim);
  Step DoClaim(std::uint32_t claim);
  Step DoRequest(std::uint32_t claim, std::uint32_t request);
  Step DoAlternatives(std::uint32_t claim, std::uint32_t request);
  Step DoSlot(const Slot& slot);
  Step DoAll(const Slot& slot, std::size_t index);
  Step DoExact(const Slot& slot);
  Step DoExactFrom(Attempt& attempt, std::int64_t index, std::uint32_t start);
  bool IsHopeless(Attempt& attempt, std::int64_t index);
  bool IsTooMany(const Slot& slot, std::int64_t remaining) const;
  Step Fail(std::string error);

  // search_checks.cc: each says the first test that the device fails.
  Reason CheckExact(const Slot& slot, std::uint32_t candidate);
  Reason CheckAll(const Slot& slot, std::uint32_t candidate);
  Reason CheckFree(const Slot& slot, std::uint32_t candidate) const;
  Reason CheckSelectable(const Slot& slot, std::uint32_t candidate);
  Reason CheckDeviceNode(std::uint32_t candidate);
  Reason CheckShare(const Slot& slot, std::uint32_t candidate);
  Reason CheckUsable(const Slot& slot, std::uint32_t candidate);
  Reason CheckNodeOperations(const DeviceEntry& entry) const;
  bool HasCounters(std::uint32_t candidate);
  bool Tolerated(const Slot& slot, std::uint32_t entry) const;
  bool SatisfiesConstraints(const Slot& slot, std::uint32_t entry) const;
  bool SatisfiesConstraint(const ConstraintPlan& plan, const Values& values,
                           std::uint32_t value) const;
  bool SatisfiesWithLists(const ConstraintPlan& plan, const Values& values,
                          std::uint32_t value) const;
  bool IsCompatible(std::uint32_t candidate) const;
  Reason SelectorError(const Slot& slot, std::size_t selector, std::uint32_t entry);
  Reason NoteError(std::string error);
  bool IsShareable(const DeviceEntry& entry) const;
  bool ChargesNothingMore(std::uint32_t candidate) const;
  Counters& CountersOf(std::uint32_t pool);
  void Note(const Slot& slot, std::uint32_t candidate, Reason reason) {
    Reason& noted = reasons_[slot.number * view_->candidates.size() + candidate];
    if (noted == Reason::kNone) noted = reason;
  }

  // search_take.cc
  void Take(const Slot& slot, std::uint32_t candidate);
  void TakeShare(const Slot& slot, std::uint32_t candidate, Taken& taken);
  void Undo(const Slot& slot);
  void UndoShare(const Taken& taken);
  void Charge(std::uint32_t candidate, int sign);

  // search_bounds.cc
  bool CanSucceed(const Slot& slot);
  bool HasHopelessRequest();
  void NoteRefusals(const Slot& slot);
  std::size_t LargestMatch(const Slot& slot, const std::vector<std::uint32_t>& candidates) const;
  std::size_t MostDistinct(const Slot& slot, const std::vector<std::uint32_t>& candidates) const;
  std::size_t MostByCounters(const std::vector<std::uint32_t>& candidates);
  std::size_t MostOfGroup(const Counters& counters, const std::vector<std::uint32_t>& group) const;

  // search_twins.cc
  void CountFailure();
  void FindTwins();
  bool TwinsAreSafe() const;
  bool AddTwinKey(std::uint32_t candidate, Values& key);
  // The first candidates of each kind, by a hash of what they have.
  using CapacityKinds = std::unordered_multimap<std::size_t, std::uint32_t>;
  std::uint32_t CapacityKind(std::uint32_t candidate, CapacityKinds& kinds) const;
  bool IsTwinOfFailed(const Values& failed, std::uint32_t candidate) const;
  void AddFailed(Values& failed, std::uint32_t candidate) const;
  // Empty: this state is not to be remembered.
  Values StateOf(std::uint32_t claim, std::uint32_t request) const;

  const DeviceEntry& EntryOf(std::uint32_t candidate) const {
    return inventory_.entries()[view_->candidates[candidate].entry];
  }

  const Inventory& inventory_;
  const Options& options_;
  const Usage& usage_;
  const Demand& demand_;
  SelectorMemo& memo_;

  const NodeView* view_ = nullptr;
  const Node* node_ = nullptr;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_end_ = 0;  // of steps_, in this attempt
  std::uint64_t spent_ = 0;      // of the budget, by all runs
  std::uint64_t calls_ = 0;
  std::string error_;
  std::vector<Reason> reasons_;            // by slot, then candidate
  std::vector<std::uint32_t> is_taken_;    // by candidate: by how many, but for shares
  std::vector<std::uint8_t> node_fits_;    // by candidate: 0 unknown, 1 yes, 2 no
  std::vector<std::uint32_t> sharing_of_;  // by candidate, in sharings_, or kUnshared
  std::vector<Sharing> sharings_;
  std::vector<Counters> counters_;                // by pool
  std::vector<std::vector<Values>> constraints_;  // by claim and constraint
  std::vector<std::vector<Taken>> taken_;         // by claim
  std::vector<std::vector<std::uint32_t>> chosen_;
  std::vector<std::vector<std::uint32_t>> all_;  // by slot: candidates of mode All

  std::uint32_t failures_ = 0;
  std::vector<std::uint32_t> kind_of_;  // by candidate: twins have one kind; empty: not looked for
  std::set<Values> failed_states_;
};

}  // namespace galen::alloc
