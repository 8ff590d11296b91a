#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "sdk/digest.h"
#include "sdk/inventory.h"
#include "sdk/quantity.h"
#include "sdk/slices/slice_publisher.h"

namespace galen::sdk {
namespace {

// An object's name is a DNS subdomain; "-" and three digits must still fit.
constexpr std::size_t kNameStemMax = 253 - 5;

std::string NameStem(const SliceScope& scope) {
  std::string stem = fmt::format("{}-{}", scope.node, scope.driver);
  if (stem.size() <= kNameStemMax) return stem;
  const std::string digest = DigestHex(stem, 8);
  // Two long names with the same beginning must not share a slice.
  stem.resize(200);
  // A label may not begin with the "-" that follows.
  while (stem.ends_with('.')) stem.pop_back();
  return fmt::format("{}-{}", stem, digest);
}

// Copies times of taints from `have` to the same taints in `wanted` that have none.
void KeepTimes(const kube::SliceDevice& have, kube::SliceDevice& wanted) {
  for (DeviceTaint& taint : wanted.taints) {
    if (taint.added) continue;
    for (const DeviceTaint& known : have.taints) {
      const bool same =
          known.key == taint.key && known.value == taint.value && known.effect == taint.effect;
      if (same) taint.added = known.added;
    }
  }
}

bool SameCapacity(const std::map<std::string, std::string>& have,
                  const std::map<std::string, std::string>& wanted) {
  return std::equal(have.begin(), have.end(), wanted.begin(), wanted.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && SameQuantity(a.second, b.second);
                    });
}

// An API server sets each taint's time and rewrites quantities: a device that comes back so is
// still the one that was written.
bool SameDevice(const kube::SliceDevice& have, kube::SliceDevice wanted) {
  if (!SameCapacity(have.capacity, wanted.capacity)) return false;
  wanted.capacity = have.capacity;
  KeepTimes(have, wanted);
  return have == wanted;
}

bool SaysTheSame(const kube::ResourceSlice& have, const kube::ResourceSlice& wanted) {
  return have.driver == wanted.driver && have.pool == wanted.pool && have.node == wanted.node &&
         have.slice_count == wanted.slice_count &&
         std::equal(have.devices.begin(), have.devices.end(), wanted.devices.begin(),
                    wanted.devices.end(), SameDevice);
}

using Reduced = std::map<std::string, ReducedSlice>;

// Whether the slice is as wanted, or as much so as the API server keeps.
bool IsAsWanted(const kube::ResourceSlice& have, const kube::ResourceSlice& wanted,
                const Reduced& reduced) {
  if (SaysTheSame(have, wanted)) return true;
  const auto it = reduced.find(wanted.name);
  return it != reduced.end() && SaysTheSame(it->second.sent, wanted) &&
         SaysTheSame(have, it->second.kept);
}

// A taint that stays keeps its time: claims count their tolerationSeconds from then.
void KeepTimes(const kube::ResourceSlice& have, kube::ResourceSlice& wanted) {
  for (kube::SliceDevice& device : wanted.devices) {
    const auto it =
        std::find_if(have.devices.begin(), have.devices.end(),
                     [&](const kube::SliceDevice& each) { return each.name == device.name; });
    if (it != have.devices.end()) KeepTimes(*it, device);
  }
}

using Have = std::map<std::string, PublishedSlice>;

// Only this pool counts: another pool of the driver's, from an earlier configuration, has
// generations of its own.
std::int64_t NewestGeneration(const Have& have, const std::string& pool) {
  std::int64_t newest = 0;
  for (const auto& [name, published] : have) {
    if (published.slice.pool == pool) newest = std::max(newest, published.slice.generation);
  }
  return newest;
}

// Whether each slice of `generation` is one of the wanted ones, unchanged: then only the missing
// ones need be written, and readers see no step back.
bool GenerationIsSound(const std::map<std::string, const kube::ResourceSlice*>& wanted,
                       const Have& have, std::int64_t generation, const Reduced& reduced) {
  return std::all_of(have.begin(), have.end(), [&](const auto& entry) {
    const auto it = wanted.find(entry.first);
    if (entry.second.slice.generation != generation) return true;
    return it != wanted.end() && IsAsWanted(entry.second.slice, *it->second, reduced);
  });
}

bool NewerInstancePublishes(const Have& have, std::int64_t publisher) {
  return std::any_of(have.begin(), have.end(),
                     [&](const auto& entry) { return entry.second.publisher > publisher; });
}

}  // namespace

std::vector<kube::ResourceSlice> SlicesOf(const SliceScope& scope, const Inventory& all,
                                          bool taints_count) {
  Inventory inventory;
  std::copy_if(all.begin(), all.end(), std::back_inserter(inventory), [&](const Device& device) {
    return device.offered == Device::Offered::kAlways ||
           (device.offered == Device::Offered::kWhereTaintsCount && taints_count);
  });
  const bool tainted = std::any_of(inventory.begin(), inventory.end(),
                                   [](const Device& device) { return !device.taints.empty(); });
  // One limit for all slices: devices then move between slices only when the first taint comes or
  // the last one goes, which is rare.
  const std::size_t most = tainted ? kDevicesPerSliceMaxWithTaints : kDevicesPerSliceMax;
  const std::size_t count = (inventory.size() + most - 1) / most;
  std::vector<kube::ResourceSlice> slices(count);
  for (std::size_t i = 0; i < count; ++i) {
    slices[i].name = fmt::format("{}-{}", NameStem(scope), i);
    slices[i].driver = scope.driver;
    slices[i].pool = scope.pool;
    slices[i].node = scope.node;
    slices[i].slice_count = static_cast<std::int64_t>(count);
  }
  for (std::size_t i = 0; i < inventory.size(); ++i) {
    slices[i / most].devices.push_back(ToSliceDevice(inventory[i]));
  }
  return slices;
}

std::vector<DroppedField> DroppedFields(const kube::ResourceSlice& sent,
                                        const kube::ResourceSlice& answer) {
  if (SaysTheSame(answer, sent)) return {};
  bool taints = false;
  bool sharing = false;
  for (std::size_t i = 0; i < std::min(sent.devices.size(), answer.devices.size()); ++i) {
    const kube::SliceDevice& before = sent.devices[i];
    const kube::SliceDevice& after = answer.devices[i];
    taints = taints || before.taints.size() > after.taints.size();
    sharing = sharing || (before.allow_multiple_allocations && !after.allow_multiple_allocations);
  }
  std::vector<DroppedField> dropped;
  if (taints) {
    dropped.push_back({kTaintsField, "switch the API server's feature gate DRADeviceTaints on"});
  }
  if (sharing) {
    dropped.push_back({"allowMultipleAllocations",
                       "switch the API server's feature gate DRAConsumableCapacity on"});
  }
  // No feature gate explains it: most often an admission webhook changes the object.
  if (dropped.empty())
    dropped.push_back({"something else", "look for a webhook that changes ResourceSlices"});
  return dropped;
}

SlicePlan PlanSlices(const std::vector<kube::ResourceSlice>& wanted, const Have& have,
                     std::int64_t generation_least, std::optional<std::int64_t> rank,
                     const Reduced& reduced) {
  std::map<std::string, const kube::ResourceSlice*> by_name;
  for (const kube::ResourceSlice& slice : wanted) by_name[slice.name] = &slice;
  const std::string pool = wanted.empty() ? "" : wanted.front().pool;
  std::int64_t generation =
      std::max({NewestGeneration(have, pool), generation_least, static_cast<std::int64_t>(1)});
  // A generation's content never changes: once a slice of it differs, all slices are written with
  // the next generation.
  if (!GenerationIsSound(by_name, have, generation, reduced)) ++generation;

  SlicePlan plan;
  for (kube::ResourceSlice slice : wanted) {
    slice.generation = generation;
    const auto it = have.find(slice.name);
    if (it == have.end()) {
      plan.create.push_back(std::move(slice));
      continue;
    }
    const kube::ResourceSlice& now = it->second.slice;
    if (now.generation == generation && IsAsWanted(now, slice, reduced)) continue;
    KeepTimes(now, slice);
    slice.uid = now.uid;
    slice.resource_version = now.resource_version;
    plan.update.push_back(std::move(slice));
  }
  for (const auto& [name, published] : have) {
    if (!by_name.contains(name)) plan.remove.push_back(published.slice);
  }
  if (plan.empty() || !rank || !NewerInstancePublishes(have, *rank)) return plan;
  SlicePlan yielding;
  yielding.yielded = true;
  return yielding;
}

}  // namespace galen::sdk
