// What to write so that the API server's ResourceSlices say what this driver has. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "galen/driver.h"
#include "kube/objects/resource_slice.h"

namespace galen::sdk {

// Kubernetes' limits on the devices of one slice (resource.k8s.io/v1: ResourceSliceMaxDevices; half
// as many once a device has taints).
inline constexpr std::size_t kDevicesPerSliceMax = 128;
inline constexpr std::size_t kDevicesPerSliceMaxWithTaints = 64;

// Whose slices: those of one driver on one node; a pool is what they are published as. All slices
// of a scope are one pool, and the node's alone.
struct SliceScope {
  std::string driver;
  std::string node;
  std::string pool;
};

// A slice as it is at the API server, with who wrote it last: the time at which that instance of
// the driver started. Of two instances that differ, the one that started later decides.
struct PublishedSlice {
  kube::ResourceSlice slice;
  // Nanoseconds since 1970; 0 when the slice does not tell, which everybody overrules.
  std::int64_t publisher = 0;
  bool operator==(const PublishedSlice&) const = default;
};

// What is to be written, in three lists that may be carried out in any order.
struct SlicePlan {
  std::vector<kube::ResourceSlice> create;
  std::vector<kube::ResourceSlice> update;  // with the uid and resourceVersion they had
  std::vector<kube::ResourceSlice> remove;
  bool yielded = false;  // a newer instance publishes something else; nothing to do

  bool empty() const { return create.empty() && update.empty() && remove.empty(); }
};

// The slices that hold `inventory`: deterministic names, as few as possible; generation 0.
std::vector<kube::ResourceSlice> SlicesOf(const SliceScope& scope, const Inventory& inventory);

// `have` are all slices of the driver on the node by name; what is not wanted is removed.
// `rank` tells which instance asks while several run: slices that differ and were written by one of
// a higher rank are left alone. nullopt: nobody else runs, so everything is ours.
// `generation_least` is what was written last, so that a wiped pool does not go back in time.
SlicePlan PlanSlices(const std::vector<kube::ResourceSlice>& wanted,
                     const std::map<std::string, PublishedSlice>& have,
                     std::int64_t generation_least, std::optional<std::int64_t> rank);

}  // namespace galen::sdk
