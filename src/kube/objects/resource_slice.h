// resource.k8s.io/v1 ResourceSlice: what a driver offers on a node (KEP-4381), with the taints of
// its devices (KEP-5055). Values and pure functions. What v1 of 1.34 does not know is not kept, so
// only the driver's own slices are ever written back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/data/json.h"
#include "kube/objects/meta.h"
#include "model/hardware_ids.h"
#include "model/taint.h"

namespace galen::kube {

// A version attribute is kept apart from a string (semver 2.0).
struct Version {
  std::string text;
  auto operator<=>(const Version&) const = default;
};
using AttributeValue = std::variant<bool, std::int64_t, std::string, Version>;

// A device of a slice; its name is unique within the pool.
struct SliceDevice {
  std::string name;
  std::map<std::string, AttributeValue> attributes;  // qualified names; no domain: the driver's own
  std::map<std::string, std::string> capacity;       // quantities as text: "80Gi"
  std::vector<DeviceTaint> taints;
  bool allow_multiple_allocations = false;  // claims share its capacity (KEP-5075)
  bool operator==(const SliceDevice&) const = default;
};

// One of the pool's slices: `generation` rises with each change of the pool, and readers take only
// the slices of the highest one, once there are `slice_count` of them.
struct ResourceSlice {
  std::string name;
  std::string uid;
  std::string resource_version;  // for conditional writes; "" in one that is to be made
  std::string driver;
  std::string pool;
  std::int64_t generation = 0;
  std::int64_t slice_count = 0;
  std::string node;  // "" = all nodes reach its devices
  std::vector<SliceDevice> devices;
  std::vector<OwnerReference> owners = {};  // the Node: its slices go when it goes
  bool operator==(const ResourceSlice&) const = default;
};

// InvalidArgument when its metadata is broken; attributes of unknown kinds are left out.
StatusOr<ResourceSlice> DecodeSlice(const Json& object);
// The whole object. A slice without a node is for all nodes.
Json EncodeSlice(const ResourceSlice& slice);

// The device's serial and model by the names drivers use for them ("serial", "serialNumber",
// "uuid"; "model", "productName", with or without a domain); "" when there is none.
DeviceIdentity IdentityOf(const ResourceSlice& slice, const SliceDevice& device);
// The names by which the device is found again elsewhere: Kubernetes' standard "pciBusID" and what
// vendors' drivers call it ("pcieBusID" is NVIDIA's, "pciAddr" AMD's), "uuid", "serial",
// "serialNumber", and of a partition NVIDIA's "parentUUID"; with or without a domain.
HardwareIds HardwareIdsOf(const SliceDevice& device);

}  // namespace galen::kube
