// Which devices the claims of a Pod get on a node, as Kubernetes' scheduler would choose them.
// Values in, values out: the same question always has the same answer. An allocator is made for the
// claims of one Pod and asked about one node after the other. Belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloc/objects/resource_claim.h"
#include "alloc/selection/demand.h"
#include "alloc/selection/inventory.h"
#include "alloc/selection/reason.h"
#include "alloc/selection/search.h"
#include "alloc/selection/selector_memo.h"
#include "alloc/selection/usage.h"

namespace galen::alloc {

// What came of a question.
struct Outcome {
  enum class Verdict {
    kFits,
    kDoesNotFit,
    kNodeError,  // nothing fits, and a pool of the node is invalid: other nodes may do
    kError,      // upstream refuses the Pod, whatever the node
    // The search was given up at Options::steps_max, or those of all nodes at kNodesStepsFactor.
    kCannotTell,
  };
  Verdict verdict = Verdict::kDoesNotFit;
  std::vector<Allocation> allocations = {};  // with kFits: by claim
  std::string message = {};                  // with the errors: a sentence
};

// One is for one question about any number of nodes: they share a budget of steps.
class Allocator {
 public:
  // All outlive it. `usage` may change between questions.
  Allocator(const Inventory& inventory, const Usage& usage, const Demand& demand,
            SelectorMemo& memo)
      : inventory_(inventory),
        demand_(demand),
        memo_(memo),
        search_(inventory, usage, demand, memo) {}

  // Shares have no id yet: the caller makes them.
  Outcome Allocate(const Node& node);
  // The same without what it allocates.
  Outcome::Verdict Check(const Node& node);

  // Why a device, at the last node, was not taken for a request, as far as the search came to it.
  struct Refusal {
    std::uint32_t slot = 0;   // of the demand
    std::uint32_t entry = 0;  // of the inventory
    Reason reason = Reason::kNone;

    bool operator==(const Refusal&) const = default;
  };
  std::vector<Refusal> Refusals() const;
  // The devices that the last node can use, by entry of the inventory.
  std::vector<std::uint32_t> Reached() const;
  // The last node's devices in pools that are incomplete or invalid, which nobody gets.
  std::vector<std::uint32_t> InBrokenPools() const;
  // What was wrong at the last node; "" when it fits or does not.
  const std::string& message() const { return message_; }
  // Calls of the search at the last node, as upstream counts its own.
  std::uint64_t calls() const { return search_.calls(); }

 private:
  Outcome::Verdict Ask(const Node& node);

  const Inventory& inventory_;
  const Demand& demand_;
  SelectorMemo& memo_;
  Search search_;
  const NodeView* view_ = nullptr;
  std::string message_;
};

}  // namespace galen::alloc
