// Why one node cannot give a Pod's claims their devices, in a line for people: of the first request
// that gets too few, how many devices failed which test. Pure.
#pragma once

#include <string>
#include <vector>

#include "alloc/selection/allocator.h"

namespace galen::alloc {

// What the question is asked of; all borrowed.
struct NodeDevices {
  const Inventory& inventory;
  const Usage& usage;
  const DeviceClasses& classes;
  SelectorMemo& memo;
};

// The node does not fit. "claim c, request gpu: 2 wanted, 1 of 8 devices to be had (5 in use, 2 not
// selected)"; where each request alone would get enough, that they do not together.
std::string ShortageOf(const Node& node, const std::vector<ResourceClaim>& claims,
                       const NodeDevices& devices);

}  // namespace galen::alloc
