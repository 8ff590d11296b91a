// resource.k8s.io/v1 ResourceSlice: what a driver offers on a node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "kube/objects/meta.h"
#include "model/taint.h"

namespace galen::kube {

// A version attribute is kept apart from a string (semver 2.0).
struct Version {
  std::string text;
  auto operator<=>(const Version&) const = default;
};
using AttributeValue = std::variant<bool, std::int64_t, std::string, Version>;

struct SliceDevice {
  std::string name;
  std::map<std::string, AttributeValue> attributes;  // qualified names; no domain: the driver's own
  std::map<std::string, std::string> capacity;       // quantities as text: "80Gi"
  std::vector<DeviceTaint> taints;
  bool operator==(const SliceDevice&) const = default;
};

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

StatusOr<ResourceSlice> DecodeSlice(const Json& object);
Json EncodeSlice(const ResourceSlice& slice);

// The device's serial and model by the names drivers use for them ("serial", "serialNumber",
// "uuid"; "model", "productName", with or without a domain); "" when it tells none.
DeviceIdentity IdentityOf(const ResourceSlice& slice, const SliceDevice& device);

}  // namespace galen::kube
