// resource.k8s.io/v1 ResourceSlice as an allocator reads it, with all that decides whether a device
// can be had: capacities and their policies, counters of partitions, nodes, taints, binding
// conditions. Values and pure functions. kube/objects has the shorter form that a driver writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/device_facts.h"
#include "alloc/objects/node_selector.h"
#include "alloc/quantity.h"
#include "base/data/json.h"
#include "base/status.h"
#include "model/taint.h"

namespace galen::alloc {

// Names with quantities, ordered by name.
using NamedQuantities = std::vector<std::pair<std::string, Quantity>>;
// From the text or number that the API has. InvalidArgument for anything else.
StatusOr<Quantity> ReadQuantity(const Json& value);
// InvalidArgument, with the name, for a quantity that cannot be read.
StatusOr<NamedQuantities> ReadNamedQuantities(const Json& object);

// Shares of a capacity run from `min` in steps of `step` to `max` (KEP-5075).
struct CapacityRange {
  std::optional<Quantity> min;
  std::optional<Quantity> max;
  std::optional<Quantity> step;

  bool operator==(const CapacityRange&) const = default;
};

// What a share of a capacity may be.
struct RequestPolicy {
  std::optional<Quantity> otherwise;  // `default`: when a request does not name the capacity
  std::vector<Quantity> valid_values = {};
  std::optional<CapacityRange> valid_range = {};

  bool operator==(const RequestPolicy&) const = default;
};

// How much of something a device has, and what shares of it there are.
struct DeviceCapacity {
  std::string name;  // as written, with or without a domain: requests name it just so
  Quantity value;
  std::optional<RequestPolicy> policy;

  bool operator==(const DeviceCapacity&) const = default;
};

// A part of a physical device that its partitions share, for instance its memory (KEP-4815).
struct CounterSet {
  std::string name;
  NamedQuantities counters;

  bool operator==(const CounterSet&) const = default;
};

// What a device takes of a counter set.
struct CounterConsumption {
  std::string counter_set;
  NamedQuantities counters;
  std::vector<std::string> compatibility_groups;  // alpha in 1.37

  bool operator==(const CounterConsumption&) const = default;
};

// Which nodes reach a slice or a device, by the first of the three that is set.
struct NodeScope {
  std::optional<std::string> node;  // "" is not set for matching, but still ties a result to a node
  bool all = false;
  std::optional<NodeSelector> selector;

  bool operator==(const NodeScope&) const = default;
};
// Whether `scope` names a node.
bool HasNode(const NodeScope& scope);
// By upstream's NodeMatches. InvalidArgument for a selector that cannot be evaluated.
StatusOr<bool> Reaches(const NodeScope& scope, const Node& node);

// A device of a slice.
struct Device {
  std::string name;
  DeviceFacts facts;
  std::vector<DeviceCapacity> capacity;  // ordered by name
  std::vector<CounterConsumption> consumes_counters;
  NodeScope nodes;  // read only where the slice selects nodes by device
  std::vector<DeviceTaint> taints;
  bool binds_to_node = false;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
};

struct ResourceSlice {
  std::string name;
  std::string driver;
  std::string pool;
  std::int64_t generation = 0;
  std::int64_t slice_count = 0;
  NodeScope nodes;
  std::optional<bool> per_device_node_selection;
  std::vector<CounterSet> shared_counters;
  std::vector<Device> devices;
  std::vector<std::string> skip_node_operations;  // alpha in 1.37
};

// InvalidArgument names the slice, the device and the field, for quantities that cannot be read. An
// attribute of an unknown kind stays as UnknownKind, as does a version that is none.
StatusOr<ResourceSlice> ReadResourceSlice(const Json& object);

// A DeviceTaintRule: a taint for all devices that it selects (KEP-5055). What is not set selects
// every driver, pool, device; without a selector the rule selects none.
struct TaintRule {
  std::string name;
  bool has_selector = false;
  std::optional<std::string> driver;
  std::optional<std::string> pool;
  std::optional<std::string> device;
  DeviceTaint taint;

  bool operator==(const TaintRule&) const = default;
};
TaintRule ReadTaintRule(const Json& object);
// Whether the rule selects devices of the slice: all of them, or the one that it names.
bool SelectsFrom(const TaintRule& rule, const ResourceSlice& slice);

// The list of texts at `list`; what is no text becomes "".
std::vector<std::string> ReadTexts(const Json& list);

}  // namespace galen::alloc
