// From the devices that a search chose to a claim's status.allocation: results, configuration for
// drivers, and the nodes where the devices can be used. Pure.
#pragma once

#include <cstdint>

#include "alloc/objects/resource_claim.h"
#include "alloc/selection/demand.h"
#include "alloc/selection/inventory.h"
#include "alloc/selection/search.h"
#include "base/status.h"

namespace galen::alloc {

// What a result is made of; `search` has found one on `view`, for `node`.
struct ResultSource {
  const Inventory& inventory;
  const Demand& demand;
  const NodeView& view;
  const Search& search;
  const Node& node;
};

// InvalidArgument for a device whose slice has a node selector of several terms: upstream cannot
// join such ones.
StatusOr<Allocation> MakeAllocation(const ResultSource& source, std::uint32_t claim);

}  // namespace galen::alloc
