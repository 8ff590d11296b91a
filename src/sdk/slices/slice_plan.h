// What to write so that the API server's ResourceSlices say what this driver has. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
  // Nanoseconds since 1970; 0 when the slice does not have it, which ranks below all others.
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

// What an API server made of a slice that was written, where it did not keep all of it: fields of
// features that are switched off there are dropped without an error.
struct ReducedSlice {
  kube::ResourceSlice sent;
  kube::ResourceSlice kept;
};

// A field of a device that the API server did not keep, and what to do about it: both for people.
struct DroppedField {
  std::string_view field;
  std::string_view advice;
};

// What of `sent` the `answer` to its write lacks; empty when all is there, whatever times and forms
// of quantities the API server gave it. Never empty when PlanSlices would write it again.
std::vector<DroppedField> DroppedFields(const kube::ResourceSlice& sent,
                                        const kube::ResourceSlice& answer);

// The slices that hold `inventory`: deterministic names, as few as possible; generation 0.
std::vector<kube::ResourceSlice> SlicesOf(const SliceScope& scope, const Inventory& inventory);

// `have` are all slices of the driver on the node by name; what is not wanted is removed. `rank` is
// that of the calling instance while several run: slices that differ and were written by one of a
// higher rank are left alone. nullopt: nobody else runs, so everything is ours. `generation_least`
// is what was written last, so that a wiped pool does not go back in time. `reduced`, by name: a
// slice equal to what the server kept of the wanted one counts as equal, or it would be written for
// ever.
SlicePlan PlanSlices(const std::vector<kube::ResourceSlice>& wanted,
                     const std::map<std::string, PublishedSlice>& have,
                     std::int64_t generation_least, std::optional<std::int64_t> rank,
                     const std::map<std::string, ReducedSlice>& reduced = {});

}  // namespace galen::sdk
