#include "cluster_sim/allocation/device_allocator.h"

#include <algorithm>
#include <map>

namespace galen::cluster_sim {
namespace {

bool Selects(const DeviceWish& wish, const std::string& driver) {
  return std::all_of(wish.drivers.begin(), wish.drivers.end(),
                     [&driver](const std::string& wanted) { return wanted == driver; });
}

// Counts of a class's devices by the reason that excludes them, for the message.
struct Tally {
  std::size_t in_use = 0;
  std::size_t tainted = 0;
  std::size_t unsupported = 0;
  std::size_t incomplete_pools = 0;
  std::string taint;    // an example
  std::string feature;  // the unsupported feature

  std::size_t refused() const { return in_use + tainted + unsupported; }
};

// The refusal of one wish, in a sentence that people read in the Pod's condition.
Status Lacking(const DeviceWish& wish, std::size_t fitting, const Tally& tally) {
  std::string why;
  if (tally.in_use > 0) why += fmt::format(", {} in use", tally.in_use);
  if (tally.tainted > 0) why += fmt::format(", {} tainted ({})", tally.tainted, tally.taint);
  if (tally.unsupported > 0) {
    why += fmt::format(", {} that need {}, which galen-sim's scheduler does not allocate",
                       tally.unsupported, tally.feature);
  }
  if (tally.incomplete_pools > 0) {
    why += fmt::format(", {} pools not published as a whole yet", tally.incomplete_pools);
  }
  return ResourceExhausted("request {} wants {} of class {}, {} free{}", wish.request,
                           wish.all ? std::string("all") : fmt::format("{}", wish.count),
                           wish.device_class, fitting, why);
}

// Whether `wish` may have `device`; if not, counts why.
bool Judge(const OfferedDevice& device, const DeviceWish& wish, bool free, Tally& tally) {
  // Unusable before in use: a device that can never be had does not count as "in use".
  if (!device.unsupported.empty()) {
    ++tally.unsupported;
    tally.feature = device.unsupported;
    return false;
  }
  if (const DeviceTaint* taint = Repelling(device.taints, wish.tolerations)) {
    ++tally.tainted;
    tally.taint = taint->key;
    return false;
  }
  if (!free) ++tally.in_use;
  return free;
}

Json EncodeTolerations(const std::vector<Toleration>& tolerations) {
  Json list(Json::Array{});
  for (const Toleration& toleration : tolerations) {
    Json one(Json::Object{});
    if (!toleration.key.empty()) one["key"] = toleration.key;
    one["operator"] = toleration.exists ? "Exists" : "Equal";
    if (!toleration.value.empty()) one["value"] = toleration.value;
    if (!toleration.effect.empty()) one["effect"] = toleration.effect;
    list.Append(std::move(one));
  }
  return list;
}

Json EncodeResult(const DeviceWish& wish, const DeviceId& id) {
  Json result = Json::MakeObject(
      {{"request", wish.request}, {"driver", id.driver}, {"pool", id.pool}, {"device", id.device}});
  if (wish.admin_access) result["adminAccess"] = true;
  if (!wish.tolerations.empty()) result["tolerations"] = EncodeTolerations(wish.tolerations);
  return result;
}

// Copies each entry of `config` with its source; adds `requests` if the entry names none.
void AppendConfig(Json& to, const Json& config, const char* source, const Json& requests) {
  for (Json entry : config.items()) {
    entry["source"] = source;
    if (!requests.is_null()) entry["requests"] = requests;
    to.Append(std::move(entry));
  }
}

}  // namespace

NodeAllocator::NodeAllocator(const DeviceInventory& inventory, const Json& node, InUse in_use)
    : node_(node), in_use_(std::move(in_use)), pools_(inventory.PoolsFor(node)) {}

StatusOr<Json> NodeAllocator::Allocate(const ClaimRequests& claim) {
  // On a copy, so that a claim that fails half-way takes nothing.
  std::set<DeviceId> taken = taken_;
  std::vector<Pick> picks;
  std::size_t results = 0;
  for (const DeviceRequest& request : claim.requests) {
    ASSIGN_OR_RETURN(Pick pick, PickFor(request, taken));
    results += pick.devices.size();
    picks.push_back(std::move(pick));
  }
  if (results > kResultsPerClaimMax) {
    return ResourceExhausted("the claim needs {} devices, at most {} fit into one claim", results,
                             kResultsPerClaimMax);
  }
  taken_ = std::move(taken);
  return Encode(claim, picks);
}

StatusOr<NodeAllocator::Pick> NodeAllocator::PickFor(const DeviceRequest& request,
                                                     std::set<DeviceId>& taken) const {
  Status first_reason;
  for (const DeviceWish& wish : request.wishes) {
    StatusOr<Pick> pick = PickFor(wish, taken);
    if (pick.ok()) return pick;
    if (first_reason.ok()) first_reason = pick.status();
  }
  return first_reason;
}

StatusOr<NodeAllocator::Pick> NodeAllocator::PickFor(const DeviceWish& wish,
                                                     std::set<DeviceId>& taken) const {
  Pick pick{.wish = &wish, .devices = {}};
  Tally tally;
  const auto wanted = static_cast<std::size_t>(wish.count);
  for (const DevicePool* pool : pools_) {
    if (!Selects(wish, pool->driver)) continue;
    if (!pool->complete()) {
      ++tally.incomplete_pools;
      continue;
    }
    for (const OfferedDevice& device : pool->devices) {
      // Enough: the remaining devices need no reason.
      if (!wish.all && pick.devices.size() == wanted) break;
      if (!Covers(device.scope, node_)) continue;
      // Admin access is allowed to devices that others hold.
      const bool free = wish.admin_access || (!taken.contains(device.id) && !in_use_(device.id));
      if (Judge(device, wish, free, tally)) pick.devices.push_back(&device);
    }
  }
  // "All" means every device: one that cannot be had, or an incomplete pool, fails it.
  const bool whole = tally.refused() == 0 && tally.incomplete_pools == 0;
  const bool fits = wish.all ? !pick.devices.empty() && whole : pick.devices.size() == wanted;
  if (!fits) return Lacking(wish, pick.devices.size(), tally);
  if (!wish.admin_access) {
    for (const OfferedDevice* device : pick.devices) taken.insert(device->id);
  }
  return pick;
}

Json NodeAllocator::Encode(const ClaimRequests& claim, const std::vector<Pick>& picks) const {
  Json results(Json::Array{});
  Json config(Json::Array{});
  for (const Pick& pick : picks) {
    for (const OfferedDevice* device : pick.devices) {
      results.Append(EncodeResult(*pick.wish, device->id));
    }
    // The class's configuration is for this request only; the claim's names its requests itself.
    AppendConfig(config, pick.wish->class_config, "FromClass",
                 Json::MakeArray({pick.wish->request}));
  }
  AppendConfig(config, claim.config, "FromClaim", Json());
  Json devices = Json::MakeObject({{"results", std::move(results)}});
  if (!config.items().empty()) devices["config"] = std::move(config);
  Json allocation = Json::MakeObject({{"devices", std::move(devices)}});
  if (Json selector = NodeSelectorFor(picks); !selector.is_null()) {
    allocation["nodeSelector"] = std::move(selector);
  }
  return allocation;
}

Json NodeAllocator::NodeSelectorFor(const std::vector<Pick>& picks) const {
  // Which nodes' Pods may use this claim too. A device bound by labels is narrowed to this node,
  // which is always valid.
  const bool everywhere = std::all_of(picks.begin(), picks.end(), [](const Pick& pick) {
    return std::all_of(pick.devices.begin(), pick.devices.end(),
                       [](const OfferedDevice* device) { return device->scope.all; });
  });
  if (everywhere) return Json();
  const Json field = Json::MakeObject({{"key", "metadata.name"},
                                       {"operator", "In"},
                                       {"values", Json::MakeArray({node_["metadata"]["name"]})}});
  const Json term = Json::MakeObject({{"matchFields", Json::MakeArray({field})}});
  return Json::MakeObject({{"nodeSelectorTerms", Json::MakeArray({term})}});
}

std::vector<DeviceId> HeldDevices(const Json& allocation) {
  std::vector<DeviceId> held;
  for (const Json& result : allocation["devices"]["results"].items()) {
    if (result["adminAccess"].AsBool()) continue;
    held.push_back(
        {result["driver"].AsString(), result["pool"].AsString(), result["device"].AsString()});
  }
  return held;
}

}  // namespace galen::cluster_sim
