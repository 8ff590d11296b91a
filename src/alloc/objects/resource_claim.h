// resource.k8s.io/v1 DeviceClass and ResourceClaim as an allocator reads them, and the allocation
// that it writes. Values and pure functions. Nothing is filled in: what the API server sets by
// default must be there, or WithDefaults is called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alloc/objects/node_selector.h"
#include "alloc/objects/resource_slice.h"
#include "base/data/json.h"
#include "base/status.h"
#include "model/device.h"
#include "model/taint.h"

namespace galen::alloc {

// The expression of a selector; nullopt for a kind of selector that is not CEL.
using DeviceSelector = std::optional<std::string>;

// A DeviceClass: selectors that its requests share, and configuration for drivers.
struct DeviceClass {
  std::string name;
  std::vector<DeviceSelector> selectors;
  std::vector<Json> config;  // DeviceConfiguration, for drivers
  std::string extended_resource_name;

  bool operator==(const DeviceClass&) const = default;
};
DeviceClass ReadDeviceClass(const Json& object);

// A taint that a request accepts.
struct DeviceToleration {
  enum class Operator { kEqual, kExists, kUnknown };

  std::string key;  // "": every key
  Operator op = Operator::kEqual;
  std::string value;
  std::string effect;  // "": every effect
  Json written = {};   // as the claim has it: the result copies it

  bool operator==(const DeviceToleration&) const = default;
};
// From `tolerations` of a request, a result or a Pod; null: none.
std::vector<DeviceToleration> ReadTolerations(const Json& list);
// By resourceclaim.ToleratesTaint.
bool Tolerates(const DeviceToleration& toleration, const DeviceTaint& taint);

// An attribute that a request computes of each device (alpha in 1.37).
struct DerivedAttribute {
  std::string name;
  std::string expression;

  bool operator==(const DerivedAttribute&) const = default;
};

// One way to satisfy a request: `exactly`, or one entry of `firstAvailable`.
struct DeviceWish {
  enum class Mode { kExactCount, kAll, kUnknown };

  std::string name;  // of the entry of firstAvailable; "" with `exactly`
  std::string class_name;
  std::vector<DeviceSelector> selectors;
  Mode mode = Mode::kUnknown;
  std::string mode_text;
  std::int64_t count = 0;
  std::optional<bool> admin_access;
  std::vector<DeviceToleration> tolerations;
  // nullopt: no capacity is asked for, which is not the same as asking for none
  std::optional<NamedQuantities> capacity;
  std::vector<DerivedAttribute> derived_attributes;
};

// One entry of spec.devices.requests.
struct DeviceRequest {
  std::string name;
  bool first_available = false;
  // One with `exactly`, else those of firstAvailable; never empty.
  std::vector<DeviceWish> wishes;
};

// What devices of several requests have in common, or do not.
struct DeviceConstraint {
  std::vector<std::string> requests;  // empty: all; "name" includes its "name/sub"
  std::optional<std::string> match_attribute;
  std::optional<std::string> distinct_attribute;

  bool operator==(const DeviceConstraint&) const = default;
};

// For drivers: from a class or from the claim.
struct AllocatedConfig {
  bool from_class = false;
  std::vector<std::string> requests;  // empty: all
  Json configuration;                 // without `source` and `requests`

  bool operator==(const AllocatedConfig&) const = default;
};

// A device that a claim has.
struct AllocatedDevice {
  std::string request;  // "name", or "name/sub"
  DeviceId id;
  bool admin_access = false;
  std::vector<DeviceToleration> tolerations = {};
  std::vector<std::string> binding_conditions = {};
  std::vector<std::string> binding_failure_conditions = {};
  // A share of a device that others may share; the id is the caller's to make, a UUID.
  bool shared = false;
  std::string share_id = {};
  NamedQuantities consumed_capacity = {};
  std::vector<std::string> skip_node_operations = {};

  bool operator==(const AllocatedDevice&) const = default;
};

// A claim's status.allocation.
struct Allocation {
  std::vector<AllocatedDevice> devices;
  std::vector<AllocatedConfig> config;
  std::optional<NodeSelector> node_selector;  // nullopt: usable on every node

  bool operator==(const Allocation&) const = default;
};

struct ResourceClaim {
  std::string name_space;
  std::string name;
  std::string uid;
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<AllocatedConfig> config;
  std::optional<Allocation> allocation;
};
// "namespace/name", for messages.
std::string ToString(const ResourceClaim& claim);

// InvalidArgument names the claim, the request and the field, for a quantity that cannot be read
// and for a request of a kind that is not known.
StatusOr<ResourceClaim> ReadResourceClaim(const Json& object);
// Mode ExactCount and count 1 where a request says nothing, as the API server does.
ResourceClaim WithDefaults(ResourceClaim claim);

// status.allocation, without a timestamp.
Json WriteAllocation(const Allocation& allocation);
// No devices of null. InvalidArgument names the device, for a quantity that cannot be read.
StatusOr<Allocation> ReadAllocation(const Json& allocation);

}  // namespace galen::alloc
