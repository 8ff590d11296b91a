// The claims of a Pod, prepared for many nodes: classes found, selectors numbered, and what is
// refused whatever the node. Immutable; borrows claims and classes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "alloc/objects/resource_claim.h"
#include "alloc/selection/inventory.h"
#include "alloc/selection/selector_memo.h"
#include "base/status.h"

namespace galen::alloc {

using DeviceClasses = std::map<std::string, DeviceClass, std::less<>>;

// A request, or one alternative of it.
struct Slot {
  std::uint32_t number = 0;  // among all of the Pod
  std::uint32_t claim = 0;
  std::uint32_t request = 0;
  const DeviceWish* wish = nullptr;
  const DeviceClass* device_class = nullptr;
  std::string name;                      // as results have it: "name", "name/sub"
  std::vector<std::uint32_t> selectors;  // the class's first
  std::size_t class_selectors = 0;
  bool all = false;
  bool admin_access = false;
  std::int64_t count = 0;                  // with ExactCount
  std::vector<std::uint32_t> constraints;  // of the claim's, those that apply
};

// A request and its slots.
struct RequestPlan {
  const DeviceRequest* request = nullptr;
  std::uint32_t first_slot = 0;
  std::uint32_t slot_count = 0;
};

// A constraint, its attribute as a number.
struct ConstraintPlan {
  bool distinct = false;
  // The attribute's; kNoName: no device has it
  std::uint32_t name = 0;
};

// A claim with its requests and constraints.
struct ClaimPlan {
  const ResourceClaim* claim = nullptr;
  std::vector<RequestPlan> requests;
  std::vector<ConstraintPlan> constraints;
};

// All claims of a Pod.
struct Demand {
  std::vector<ClaimPlan> claims;
  std::vector<Slot> slots;
  // Not OK: upstream refuses the Pod on every node. FailedPrecondition for a class that is missing,
  // InvalidArgument for the rest; names the claim and the request.
  Status refused;
};

// By upstream's validateDeviceRequest, in its order, without what depends on the node; before it
// the limits of the API server, as claims may come from a manifest that no API server has seen. The
// claims in the Pod's order; those that have an allocation are the caller's to leave out.
Demand PrepareDemand(const std::vector<ResourceClaim>& claims, const DeviceClasses& classes,
                     const Inventory& inventory, SelectorMemo& memo);

}  // namespace galen::alloc
