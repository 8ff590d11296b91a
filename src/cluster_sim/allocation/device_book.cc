#include "cluster_sim/allocation/device_book.h"

#include <utility>

#include "alloc/objects/resource_slice.h"

namespace galen::cluster_sim {
namespace {

// galen-sim serves the API of the newest release that `alloc` knows, taint rules included.
constexpr alloc::Options kOptions;

// Devices of an allocation that cannot be read as a whole are held as a whole: better nobody gets
// them than two.
alloc::Allocation ReadHeld(const Json& object) {
  StatusOr<alloc::Allocation> read = alloc::ReadAllocation(object);
  if (read.ok()) return std::move(read).value();
  alloc::Allocation whole;
  for (const Json& result : object["devices"]["results"].items()) {
    alloc::AllocatedDevice device;
    device.id = {result["driver"].AsString(), result["pool"].AsString(),
                 result["device"].AsString()};
    whole.devices.push_back(std::move(device));
  }
  return whole;
}

}  // namespace

DeviceBook::DeviceBook(const Objects& slices, const Objects& rules, const Objects& classes,
                       const Objects& claims)
    : inventory_(Read(slices, rules)),
      usage_(*inventory_),
      engine_(kOptions.minor),
      memo_(*inventory_, engine_) {
  for (const auto& [key, object] : classes)
    classes_.emplace(key.name, alloc::ReadDeviceClass(object));
  for (const auto& [key, claim] : claims) OnClaim(nullptr, &claim);
}

std::unique_ptr<const alloc::Inventory> DeviceBook::Read(const Objects& slices,
                                                         const Objects& rules) {
  std::vector<alloc::ResourceSlice> read;
  for (const auto& [key, object] : slices) {
    StatusOr<alloc::ResourceSlice> slice = alloc::ReadResourceSlice(object);
    if (slice.ok()) {
      read.push_back(std::move(slice).value());
    } else {
      problems_.push_back(slice.status().message());
    }
  }
  std::vector<alloc::TaintRule> taints;
  for (const auto& [key, object] : rules) taints.push_back(alloc::ReadTaintRule(object));
  return alloc::Inventory::Create(std::move(read), taints, kOptions);
}

void DeviceBook::OnClaim(const Json* before, const Json* after) {
  if (before != nullptr) Release((*before)["status"]["allocation"]);
  if (after != nullptr) Hold((*after)["status"]["allocation"]);
}

void DeviceBook::Hold(const Json& allocation) { usage_.Add(ReadHeld(allocation)); }

void DeviceBook::Release(const Json& allocation) { usage_.Remove(ReadHeld(allocation)); }

}  // namespace galen::cluster_sim
