// Whose allocator is meant: the release of Kubernetes and its feature gates. Values.
// Source: k8s.io/dynamic-resource-allocation/structured, the variant that a scheduler with stock
// gates runs ("incubating"), v0.34 to v0.37.
#pragma once

#include <cstdint>

namespace galen::alloc {

// Each changes what is allocated; named as the fields of upstream's Features.
struct Features {
  bool admin_access = false;
  bool prioritized_list = false;
  bool partitionable_devices = false;
  bool device_taints = false;
  bool binding_conditions = false;
  bool consumable_capacity = false;
  bool fractional_capacity_range = false;
  // Alpha in 1.37, off by default.
  bool list_attributes = false;
  bool compatibility_groups = false;
  bool optional_node_operations = false;

  bool operator==(const Features&) const = default;
};

inline constexpr int kOldestMinor = 34;
inline constexpr int kNewestMinor = 37;

// Until then pools come out of a Go map, slices too: which devices are taken of those that suit,
// and whether the search comes to one with an error, changes from one attempt to the next.
inline constexpr int kFixedOrderMinor = 36;

// The gates of 1.`minor` as they are when nobody sets them.
constexpr Features StockFeatures(int minor) {
  Features features{.admin_access = true, .prioritized_list = true};
  if (minor >= 36) {
    features.partitionable_devices = true;
    features.device_taints = true;
    features.binding_conditions = true;
    features.consumable_capacity = true;
  }
  features.fractional_capacity_range = minor >= 37;
  return features;
}

// Devices tried in one search. What needs more has more combinations than anybody waits for (each
// takes some 50 ns); upstream's own end is 10 s. At the limit: no verdict.
inline constexpr std::uint64_t kStepsMax = 2'000'000;

// A cluster has many nodes, and each could need as much: so many times steps_max all nodes of one
// question have together. A look at each device for each request, which a search cannot do without,
// is not counted (search.cc). A node that is asked after that has no verdict, without a search.
inline constexpr std::uint64_t kNodesStepsFactor = 5;

struct Options {
  int minor = kNewestMinor;  // 34 to 37
  Features features = StockFeatures(kNewestMinor);
  // The variant that runs as soon as an alpha gate is on. It differs by itself only in that it
  // refuses slices that leave out operations of the node while that gate is off.
  bool experimental = false;
  std::uint64_t steps_max = kStepsMax;
  // After so many a search stops to see whether one request is without hope on this node, and
  // begins anew where none is.
  std::uint64_t first_steps = 10'000;
  // Off: every branch is tried, as upstream does. For tests of the cuts.
  bool cuts = true;

  bool operator==(const Options&) const = default;
};

}  // namespace galen::alloc
