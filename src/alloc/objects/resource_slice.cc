#include "alloc/objects/resource_slice.h"

#include <algorithm>
#include <string_view>

namespace galen::alloc {
namespace {

StatusOr<std::optional<Quantity>> ReadOptionalQuantity(const Json& parent, std::string_view field) {
  const Json& value = parent[field];
  if (value.is_null()) return std::optional<Quantity>();
  ASSIGN_OR_RETURN(Quantity quantity, ReadQuantity(value));
  return std::optional<Quantity>(quantity);
}

std::optional<std::string> ReadOptionalText(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  return value.AsString();
}

AttributeValue VersionOf(const std::string& text) {
  auto version = ParseSemanticVersion(text);
  if (!version.ok()) return UnknownKind();
  return std::move(version).value();
}

AttributeValue VersionsOf(const Json& list) {
  std::vector<SemanticVersion> versions;
  for (const Json& item : list.items()) {
    auto version = ParseSemanticVersion(item.AsString());
    if (!version.ok()) return UnknownKind();
    versions.push_back(std::move(version).value());
  }
  return versions;
}

template <typename T, typename Get>
AttributeValue ListOf(const Json& list, const Get& get) {
  std::vector<T> values;
  for (const Json& item : list.items()) values.push_back(get(item));
  return values;
}

AttributeValue ReadAttribute(const Json& attribute) {
  if (attribute["int"].is_int()) return attribute["int"].AsInt();
  if (attribute["bool"].is_bool()) return attribute["bool"].AsBool();
  if (attribute["string"].is_string()) return attribute["string"].AsString();
  if (attribute["version"].is_string()) return VersionOf(attribute["version"].AsString());
  if (!attribute["ints"].items().empty())
    return ListOf<std::int64_t>(attribute["ints"], [](const Json& item) { return item.AsInt(); });
  if (!attribute["bools"].items().empty())
    return ListOf<bool>(attribute["bools"], [](const Json& item) { return item.AsBool(); });
  if (!attribute["strings"].items().empty())
    return ListOf<std::string>(attribute["strings"],
                               [](const Json& item) { return item.AsString(); });
  if (!attribute["versions"].items().empty()) return VersionsOf(attribute["versions"]);
  return UnknownKind();
}

// Orders by name. Of a name that was written both with and without the driver's domain the full
// form counts: upstream's constraints look for it first.
template <typename Value>
void PutFact(std::vector<std::pair<QualifiedName, Value>>& facts, const std::string& key,
             const std::string& driver, Value value) {
  QualifiedName name = ParseQualifiedName(key, driver);
  const auto at = std::lower_bound(
      facts.begin(), facts.end(), name,
      [](const auto& fact, const QualifiedName& wanted) { return fact.first < wanted; });
  const bool full = key.find('/') != std::string::npos;
  if (at == facts.end() || at->first != name) {
    facts.emplace(at, std::move(name), std::move(value));
  } else if (full) {
    at->second = std::move(value);
  }
}

StatusOr<CapacityRange> ReadRange(const Json& object) {
  CapacityRange range;
  ASSIGN_OR_RETURN(range.min, ReadOptionalQuantity(object, "min"));
  ASSIGN_OR_RETURN(range.max, ReadOptionalQuantity(object, "max"));
  ASSIGN_OR_RETURN(range.step, ReadOptionalQuantity(object, "step"));
  return range;
}

StatusOr<RequestPolicy> ReadPolicy(const Json& object) {
  RequestPolicy policy;
  ASSIGN_OR_RETURN(policy.otherwise, ReadOptionalQuantity(object, "default"));
  for (const Json& value : object["validValues"].items()) {
    ASSIGN_OR_RETURN(const Quantity quantity, ReadQuantity(value));
    policy.valid_values.push_back(quantity);
  }
  if (!object["validRange"].is_null()) {
    ASSIGN_OR_RETURN(policy.valid_range, ReadRange(object["validRange"]));
  }
  return policy;
}

StatusOr<DeviceCapacity> ReadCapacity(const std::string& name, const Json& object) {
  DeviceCapacity capacity{.name = name};
  ASSIGN_OR_RETURN(capacity.value, ReadQuantity(object["value"]));
  if (!object["requestPolicy"].is_null()) {
    ASSIGN_OR_RETURN(capacity.policy, ReadPolicy(object["requestPolicy"]));
  }
  return capacity;
}

StatusOr<NamedQuantities> ReadCounters(const Json& object) {
  NamedQuantities counters;
  for (const auto& [name, counter] : object.members()) {
    auto value = ReadQuantity(counter["value"]);
    if (!value.ok()) return Annotate(value.status(), "counters.{}.value", name);
    counters.emplace_back(name, *value);
  }
  return counters;
}

StatusOr<std::vector<CounterConsumption>> ReadConsumption(const Json& list) {
  std::vector<CounterConsumption> all;
  for (const Json& item : list.items()) {
    CounterConsumption one{.counter_set = item["counterSet"].AsString(),
                           .compatibility_groups = ReadTexts(item["compatibilityGroups"])};
    ASSIGN_OR_RETURN(one.counters, ReadCounters(item["counters"]));
    all.push_back(std::move(one));
  }
  return all;
}

NodeScope ReadScope(const Json& object) {
  NodeScope scope{.node = ReadOptionalText(object["nodeName"]), .all = object["allNodes"].AsBool()};
  if (!object["nodeSelector"].is_null()) scope.selector = ReadNodeSelector(object["nodeSelector"]);
  return scope;
}

DeviceTaint ReadTaint(const Json& object) {
  return {.key = object["key"].AsString(),
          .value = object["value"].AsString(),
          .effect = ParseTaintEffect(object["effect"].AsString())};
}

Status ReadCapacities(const Json& object, const std::string& driver, Device& device) {
  for (const auto& [name, value] : object.members()) {
    auto capacity = ReadCapacity(name, value);
    if (!capacity.ok()) return Annotate(capacity.status(), "capacity[{}]", name);
    PutFact(device.facts.capacity, name, driver, capacity->value);
    device.capacity.push_back(std::move(capacity).value());
  }
  return OkStatus();
}

StatusOr<Device> ReadDevice(const Json& object, const std::string& driver) {
  Device device{.name = object["name"].AsString(), .nodes = ReadScope(object)};
  device.facts.driver = driver;
  device.facts.allow_multiple_allocations = object["allowMultipleAllocations"].AsBool();
  for (const auto& [name, attribute] : object["attributes"].members())
    PutFact(device.facts.attributes, name, driver, ReadAttribute(attribute));
  RETURN_IF_ERROR(ReadCapacities(object["capacity"], driver, device));
  ASSIGN_OR_RETURN(device.consumes_counters, ReadConsumption(object["consumesCounters"]));
  for (const Json& taint : object["taints"].items()) device.taints.push_back(ReadTaint(taint));
  device.binds_to_node = object["bindsToNode"].AsBool();
  device.binding_conditions = ReadTexts(object["bindingConditions"]);
  device.binding_failure_conditions = ReadTexts(object["bindingFailureConditions"]);
  return device;
}

Status ReadContents(const Json& spec, ResourceSlice& slice) {
  for (const Json& item : spec["sharedCounters"].items()) {
    CounterSet set{.name = item["name"].AsString()};
    auto counters = ReadCounters(item["counters"]);
    if (!counters.ok()) return Annotate(counters.status(), "spec.sharedCounters[{}]", set.name);
    set.counters = std::move(counters).value();
    slice.shared_counters.push_back(std::move(set));
  }
  for (const Json& item : spec["devices"].items()) {
    auto device = ReadDevice(item, slice.driver);
    if (!device.ok()) return Annotate(device.status(), "spec.devices[{}]", item["name"].AsString());
    slice.devices.push_back(std::move(device).value());
  }
  return OkStatus();
}

}  // namespace

bool HasNode(const NodeScope& scope) { return scope.node && !scope.node->empty(); }

StatusOr<bool> Reaches(const NodeScope& scope, const Node& node) {
  if (HasNode(scope)) return *scope.node == node.name;
  if (scope.all) return true;
  if (!scope.selector) return false;
  RETURN_IF_ERROR(Validate(*scope.selector));
  return Matches(*scope.selector, node);
}

std::vector<std::string> ReadTexts(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list.items()) texts.push_back(item.AsString());
  return texts;
}

StatusOr<Quantity> ReadQuantity(const Json& value) {
  if (value.is_string()) return Quantity::Parse(value.AsString());
  if (value.is_number()) return Quantity::Parse(value.Dump());
  return InvalidArgument("is no quantity; write a number such as 80Gi");
}

StatusOr<NamedQuantities> ReadNamedQuantities(const Json& object) {
  NamedQuantities quantities;
  for (const auto& [name, value] : object.members()) {
    auto quantity = ReadQuantity(value);
    if (!quantity.ok()) return Annotate(quantity.status(), "[{}]", name);
    quantities.emplace_back(name, *quantity);
  }
  return quantities;
}

StatusOr<ResourceSlice> ReadResourceSlice(const Json& object) {
  const Json& spec = object["spec"];
  ResourceSlice slice{.name = object["metadata"]["name"].AsString(),
                      .driver = spec["driver"].AsString(),
                      .pool = spec["pool"]["name"].AsString(),
                      .generation = spec["pool"]["generation"].AsInt(),
                      .slice_count = spec["pool"]["resourceSliceCount"].AsInt(),
                      .nodes = ReadScope(spec),
                      .skip_node_operations = ReadTexts(spec["skipNodeOperations"])};
  if (spec["perDeviceNodeSelection"].is_bool())
    slice.per_device_node_selection = spec["perDeviceNodeSelection"].AsBool();
  const Status status = ReadContents(spec, slice);
  if (!status.ok()) return Annotate(status, "ResourceSlice {}", slice.name);
  return slice;
}

TaintRule ReadTaintRule(const Json& object) {
  const Json& selector = object["spec"]["deviceSelector"];
  return {.name = object["metadata"]["name"].AsString(),
          .has_selector = selector.is_object(),
          .driver = ReadOptionalText(selector["driver"]),
          .pool = ReadOptionalText(selector["pool"]),
          .device = ReadOptionalText(selector["device"]),
          .taint = ReadTaint(object["spec"]["taint"])};
}

bool SelectsFrom(const TaintRule& rule, const ResourceSlice& slice) {
  return rule.has_selector && (!rule.driver || *rule.driver == slice.driver) &&
         (!rule.pool || *rule.pool == slice.pool);
}

}  // namespace galen::alloc
