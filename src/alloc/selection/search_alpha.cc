// What alpha gates of 1.37 add to the search: lists as attributes (KEP-5491) and compatibility
// groups of partitions.
#include <algorithm>
#include <string>
#include <vector>

#include "alloc/selection/search.h"

namespace galen::alloc {
namespace {

bool Contains(const std::vector<std::uint32_t>& elements, std::uint32_t element) {
  return std::find(elements.begin(), elements.end(), element) != elements.end();
}

// The groups that all partitions in use of a counter set have in common.
class CommonGroups {
 public:
  bool Admits(const std::vector<std::string>& groups) const {
    if (!has_members_) return true;
    if (groups.empty()) return without_groups_;
    return !without_groups_ && !Intersection(groups).empty();
  }

  void Add(const std::vector<std::string>& groups) {
    if (!has_members_) {
      has_members_ = true;
      without_groups_ = groups.empty();
      groups_ = groups;
    } else if (!without_groups_ && !groups.empty()) {
      groups_ = Intersection(groups);
    }
  }

 private:
  std::vector<std::string> Intersection(const std::vector<std::string>& groups) const {
    std::vector<std::string> common;
    for (const std::string& group : groups_) {
      if (std::find(groups.begin(), groups.end(), group) != groups.end()) common.push_back(group);
    }
    return common;
  }

  bool has_members_ = false;
  bool without_groups_ = false;
  std::vector<std::string> groups_;
};

void AddGroupsOf(const Device& device, const std::string& counter_set, CommonGroups& common) {
  for (const CounterConsumption& use : device.consumes_counters) {
    if (use.counter_set == counter_set) common.Add(use.compatibility_groups);
  }
}

}  // namespace

// matchAttribute: all have an element in common; distinctAttribute: no two have one.
bool Search::SatisfiesWithLists(const ConstraintPlan& plan, const Values& values,
                                std::uint32_t value) const {
  const Interner& interner = inventory_.interner();
  const Values& elements = interner.ElementsOf(value);
  if (elements.empty()) return false;
  if (plan.distinct) {
    return std::none_of(elements.begin(), elements.end(), [&](std::uint32_t element) {
      return std::any_of(values.begin(), values.end(), [&](std::uint32_t other) {
        return Contains(interner.ElementsOf(other), element);
      });
    });
  }
  return std::any_of(elements.begin(), elements.end(), [&](std::uint32_t element) {
    return std::all_of(values.begin(), values.end(), [&](std::uint32_t other) {
      return Contains(interner.ElementsOf(other), element);
    });
  });
}

// Beside what others hold, and what this search has taken.
bool Search::IsCompatible(std::uint32_t candidate) const {
  const std::uint32_t pool = view_->candidates[candidate].pool;
  for (const CounterConsumption& use : EntryOf(candidate).device->consumes_counters) {
    CommonGroups common;
    for (const auto& [entry, charges] : view_->pools[pool]->counters->consumers) {
      const DeviceEntry& held = inventory_.entries()[entry];
      if (usage_.IsAllocated(held.identity)) AddGroupsOf(*held.device, use.counter_set, common);
    }
    for (const std::vector<Taken>& of_claim : taken_) {
      for (const Taken& taken : of_claim) {
        if (taken.charged && view_->candidates[taken.candidate].pool == pool)
          AddGroupsOf(*EntryOf(taken.candidate).device, use.counter_set, common);
      }
    }
    if (!common.Admits(use.compatibility_groups)) return false;
  }
  return true;
}

}  // namespace galen::alloc
