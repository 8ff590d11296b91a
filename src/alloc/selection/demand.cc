// Tested by search_test.cc.
#include "alloc/selection/demand.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace galen::alloc {
namespace {

// In 1.34 and 1.35 distinctAttribute came with the gate for consumable capacity.
constexpr int kDistinctMinor = 36;
// Before, the field was not there to be read.
constexpr int kDerivedMinor = 37;

Status CheckGates(const DeviceRequest& request, const Options& options) {
  const Features& features = options.features;
  if (request.first_available && !features.prioritized_list)
    return InvalidArgument("has alternatives, but the gate DRAPrioritizedList is off");
  for (const DeviceWish& wish : request.wishes) {
    if (wish.capacity && !features.consumable_capacity && options.minor > kOldestMinor)
      return InvalidArgument("asks for capacity, but the gate DRAConsumableCapacity is off");
  }
  return OkStatus();
}

Status CheckWish(const DeviceWish& wish, const Options& options) {
  const Features& features = options.features;
  if (!wish.derived_attributes.empty() && options.minor >= kDerivedMinor)
    return InvalidArgument("derives attributes, but the gate DRADerivedAttributes is off");
  for (const DeviceSelector& selector : wish.selectors) {
    if (!selector)
      return InvalidArgument("has a selector that is not CEL; a newer galen may know it");
  }
  if (wish.admin_access && !features.admin_access)
    return InvalidArgument("asks for admin access, but the gate DRAAdminAccess is off");
  if (wish.class_name.empty()) return InvalidArgument("names no device class; set deviceClassName");
  if (wish.mode == DeviceWish::Mode::kUnknown)
    return InvalidArgument("has an allocation mode that is not known: {}", wish.mode_text);
  return OkStatus();
}

// What the API server admits (resource.k8s.io/v1, the constants ...MaxSize of its types): a
// manifest that no API server has seen may hold anything, and the search descends once for each
// device.
constexpr std::size_t kClaimsMax = 128;
constexpr std::size_t kListMax = 32;  // requests, constraints, configs; selectors of a request
constexpr std::size_t kAlternativesMax = 8;
constexpr std::size_t kTolerationsMax = 16;

Status CheckSize(std::string_view what, std::size_t size, std::size_t most) {
  if (size <= most) return OkStatus();
  return InvalidArgument("has {} {}; there may be {}", size, what, most);
}

Status CheckSizes(const ResourceClaim& claim) {
  RETURN_IF_ERROR(CheckSize("requests", claim.requests.size(), kListMax));
  RETURN_IF_ERROR(CheckSize("constraints", claim.constraints.size(), kListMax));
  return CheckSize("configs", claim.config.size(), kListMax);
}

Status CheckSizes(const DeviceRequest& request) {
  RETURN_IF_ERROR(CheckSize("alternatives", request.wishes.size(), kAlternativesMax));
  for (const DeviceWish& wish : request.wishes) {
    RETURN_IF_ERROR(CheckSize("selectors", wish.selectors.size(), kListMax));
    RETURN_IF_ERROR(CheckSize("tolerations", wish.tolerations.size(), kTolerationsMax));
    if (wish.mode == DeviceWish::Mode::kExactCount && wish.count < 1)
      return InvalidArgument("asks for {} devices; count must be 1 or more", wish.count);
  }
  return OkStatus();
}

bool Names(const std::vector<std::string>& requests, const std::string& name) {
  return std::find(requests.begin(), requests.end(), name) != requests.end();
}

// Adds one claim at a time to a demand.
class DemandBuilder {
 public:
  DemandBuilder(const DeviceClasses& classes, const Inventory& inventory, SelectorMemo& memo,
                Demand& demand)
      : classes_(classes), inventory_(inventory), memo_(memo), demand_(demand) {}

  Status Add(const ResourceClaim& claim) {
    RETURN_IF_ERROR(Annotate(CheckSizes(claim), "claim {}", ToString(claim)));
    demand_.claims.push_back({.claim = &claim});
    for (const DeviceRequest& request : claim.requests) {
      const Status status = AddRequest(claim, request);
      if (!status.ok())
        return Annotate(status, "claim {}, request {}", ToString(claim), request.name);
    }
    for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
      const Status status = AddConstraint(claim.constraints[i]);
      if (!status.ok()) return Annotate(status, "claim {}, constraint {}", ToString(claim), i);
    }
    return OkStatus();
  }

 private:
  Status AddRequest(const ResourceClaim& claim, const DeviceRequest& request) {
    RETURN_IF_ERROR(CheckSizes(request));
    RETURN_IF_ERROR(CheckGates(request, inventory_.options()));
    ClaimPlan& plan = demand_.claims.back();
    plan.requests.push_back({.request = &request,
                             .first_slot = static_cast<std::uint32_t>(demand_.slots.size()),
                             .slot_count = static_cast<std::uint32_t>(request.wishes.size())});
    for (const DeviceWish& wish : request.wishes) {
      RETURN_IF_ERROR(CheckWish(wish, inventory_.options()));
      const auto device_class = classes_.find(wish.class_name);
      if (device_class == classes_.end())
        return FailedPrecondition("there is no DeviceClass {}; create it", wish.class_name);
      AddSlot(claim, request, wish, device_class->second);
    }
    return OkStatus();
  }

  void AddSlot(const ResourceClaim& claim, const DeviceRequest& request, const DeviceWish& wish,
               const DeviceClass& device_class) {
    Slot slot{.number = static_cast<std::uint32_t>(demand_.slots.size()),
              .claim = static_cast<std::uint32_t>(demand_.claims.size() - 1),
              .request = static_cast<std::uint32_t>(demand_.claims.back().requests.size() - 1),
              .wish = &wish,
              .device_class = &device_class,
              .name = request.first_available ? request.name + "/" + wish.name : request.name,
              .class_selectors = device_class.selectors.size(),
              .all = wish.mode == DeviceWish::Mode::kAll,
              .admin_access = wish.admin_access.value_or(false),
              .count = wish.count};
    // Upstream panics at a class's selector that is not CEL; here it matches nothing.
    for (const DeviceSelector& selector : device_class.selectors)
      slot.selectors.push_back(memo_.Add(selector.value_or("false")));
    for (const DeviceSelector& selector : wish.selectors)
      slot.selectors.push_back(memo_.Add(*selector));
    for (std::uint32_t i = 0; i < claim.constraints.size(); ++i) {
      const auto& requests = claim.constraints[i].requests;
      if (requests.empty() || Names(requests, request.name) || Names(requests, slot.name))
        slot.constraints.push_back(i);
    }
    demand_.slots.push_back(std::move(slot));
  }

  Status AddConstraint(const DeviceConstraint& constraint) {
    const Options& options = inventory_.options();
    const bool distinct = !constraint.match_attribute;
    const bool known = options.minor >= kDistinctMinor || options.features.consumable_capacity;
    if (distinct && (!constraint.distinct_attribute || !known))
      return InvalidArgument("is of a kind that this release does not know");
    const std::string& text =
        distinct ? *constraint.distinct_attribute : *constraint.match_attribute;
    const std::uint32_t name = inventory_.interner().AttributeName(ParseQualifiedName(text, ""));
    demand_.claims.back().constraints.push_back({.distinct = distinct, .name = name});
    return OkStatus();
  }

  const DeviceClasses& classes_;
  const Inventory& inventory_;
  SelectorMemo& memo_;
  Demand& demand_;
};

}  // namespace

Demand PrepareDemand(const std::vector<ResourceClaim>& claims, const DeviceClasses& classes,
                     const Inventory& inventory, SelectorMemo& memo) {
  Demand demand;
  DemandBuilder builder(classes, inventory, memo, demand);
  if (claims.size() > kClaimsMax) {
    demand.refused = InvalidArgument("claim {}: the Pod has {} claims; there may be {}",
                                     ToString(claims[kClaimsMax]), claims.size(), kClaimsMax);
    return demand;
  }
  for (const ResourceClaim& claim : claims) {
    demand.refused = builder.Add(claim);
    if (!demand.refused.ok()) break;
  }
  return demand;
}

}  // namespace galen::alloc
