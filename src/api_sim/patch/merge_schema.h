// How the lists inside Kubernetes' built-in kinds merge under a strategic merge patch: the
// patchStrategy and patchMergeKey tags of its Go types, as a table. What the table lacks merges as
// a plain object or, when it is a list, is replaced whole (node taints, tolerations,
// containerStatuses and most others). Used by the simulated API server, and wherever we must know
// what a server will do. Pure.
#pragma once

#include <string_view>

#include "kube/resource.h"

namespace galen::api_sim {

// kAtomic: replaced whole. kByKey: items with an equal `key` merge. kSet: plain values, united.
enum class ListMerge { kAtomic, kByKey, kSet };

// What is known of a field: the type that its value (or each item of it) has, and how lists of it
// merge.
struct FieldRule {
  std::string_view type;
  std::string_view field;
  std::string_view child;  // "" = nothing is known about what is below
  ListMerge merge = ListMerge::kAtomic;
  std::string_view key = {};  // kByKey: the member that identifies an item
};

// The type of a whole object, e.g. "Pod", or "" for kinds that are not Kubernetes' own: a server
// refuses strategic patches of those.
std::string_view RootType(const kube::Resource& resource);

// The rule of `type`'s `field`; one without a child and with atomic lists when there is none.
FieldRule RuleOf(std::string_view type, std::string_view field);

}  // namespace galen::api_sim
