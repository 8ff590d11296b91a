#include "alloc/objects/resource_claim.h"

#include <utility>

namespace galen::alloc {
namespace {

using Mode = DeviceWish::Mode;

std::vector<DeviceSelector> ReadSelectors(const Json& list) {
  std::vector<DeviceSelector> selectors;
  for (const Json& item : list.items()) {
    const Json& cel = item["cel"];
    selectors.push_back(cel.is_object() ? DeviceSelector(cel["expression"].AsString())
                                        : std::nullopt);
  }
  return selectors;
}

DeviceToleration ReadToleration(const Json& object) {
  using Operator = DeviceToleration::Operator;
  const std::string& op = object["operator"].AsString();
  return {.key = object["key"].AsString(),
          .op = op.empty() || op == "Equal" ? Operator::kEqual
                : op == "Exists"            ? Operator::kExists
                                            : Operator::kUnknown,
          .value = object["value"].AsString(),
          .effect = object["effect"].AsString(),
          .written = object};
}

Mode ParseMode(const std::string& text) {
  if (text == "ExactCount") return Mode::kExactCount;
  return text == "All" ? Mode::kAll : Mode::kUnknown;
}

StatusOr<DeviceWish> ReadWish(const Json& object) {
  DeviceWish wish{.name = object["name"].AsString(),
                  .class_name = object["deviceClassName"].AsString(),
                  .selectors = ReadSelectors(object["selectors"]),
                  .mode = ParseMode(object["allocationMode"].AsString()),
                  .mode_text = object["allocationMode"].AsString(),
                  .count = object["count"].AsInt(),
                  .tolerations = ReadTolerations(object["tolerations"])};
  if (object["adminAccess"].is_bool()) wish.admin_access = object["adminAccess"].AsBool();
  if (!object["capacity"].is_null()) {
    auto requests = ReadNamedQuantities(object["capacity"]["requests"]);
    if (!requests.ok()) return Annotate(requests.status(), "capacity.requests");
    wish.capacity = std::move(requests).value();
  }
  for (const Json& item : object["derivedAttributes"].items())
    wish.derived_attributes.push_back({item["name"].AsString(), item["expression"].AsString()});
  return wish;
}

StatusOr<DeviceRequest> ReadRequest(const Json& object) {
  DeviceRequest request{.name = object["name"].AsString()};
  const Json::Array& alternatives = object["firstAvailable"].items();
  request.first_available = !alternatives.empty();
  for (const Json& alternative : alternatives) {
    auto wish = ReadWish(alternative);
    if (!wish.ok())
      return Annotate(wish.status(), "firstAvailable[{}]", alternative["name"].AsString());
    request.wishes.push_back(std::move(wish).value());
  }
  if (request.first_available) return request;
  if (!object["exactly"].is_object())
    return InvalidArgument("has neither exactly nor firstAvailable; a newer galen may know it");
  auto wish = ReadWish(object["exactly"]);
  if (!wish.ok()) return Annotate(wish.status(), "exactly");
  request.wishes.push_back(std::move(wish).value());
  request.wishes.front().name.clear();
  return request;
}

DeviceConstraint ReadConstraint(const Json& object) {
  DeviceConstraint constraint{.requests = ReadTexts(object["requests"])};
  if (object["matchAttribute"].is_string())
    constraint.match_attribute = object["matchAttribute"].AsString();
  if (object["distinctAttribute"].is_string())
    constraint.distinct_attribute = object["distinctAttribute"].AsString();
  return constraint;
}

AllocatedConfig ReadConfig(const Json& object) {
  AllocatedConfig config{.from_class = object["source"].AsString() == "FromClass",
                         .requests = ReadTexts(object["requests"]),
                         .configuration = object};
  config.configuration.Erase("source");
  config.configuration.Erase("requests");
  return config;
}

Json TextList(const std::vector<std::string>& texts) {
  Json::Array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

void SetTexts(Json& object, std::string_view field, const std::vector<std::string>& texts) {
  if (!texts.empty()) object[field] = TextList(texts);
}

Json WriteDevice(const AllocatedDevice& device) {
  Json object = Json::MakeObject({{"request", device.request},
                                  {"driver", device.id.driver},
                                  {"pool", device.id.pool},
                                  {"device", device.id.device}});
  if (device.admin_access) object["adminAccess"] = true;
  for (const DeviceToleration& toleration : device.tolerations)
    object["tolerations"].Append(toleration.written);
  SetTexts(object, "bindingConditions", device.binding_conditions);
  SetTexts(object, "bindingFailureConditions", device.binding_failure_conditions);
  SetTexts(object, "skipNodeOperations", device.skip_node_operations);
  if (device.shared) object["shareID"] = device.share_id;
  for (const auto& [name, amount] : device.consumed_capacity)
    object["consumedCapacity"][name] = ToString(amount);
  return object;
}

Json WriteConfig(const AllocatedConfig& config) {
  Json object = config.configuration.is_null() ? Json(Json::Object()) : config.configuration;
  object["source"] = config.from_class ? "FromClass" : "FromClaim";
  SetTexts(object, "requests", config.requests);
  return object;
}

StatusOr<AllocatedDevice> ReadAllocatedDevice(const Json& object) {
  AllocatedDevice device{
      .request = object["request"].AsString(),
      .id = {.driver = object["driver"].AsString(),
             .pool = object["pool"].AsString(),
             .device = object["device"].AsString()},
      .admin_access = object["adminAccess"].AsBool(),
      .tolerations = ReadTolerations(object["tolerations"]),
      .binding_conditions = ReadTexts(object["bindingConditions"]),
      .binding_failure_conditions = ReadTexts(object["bindingFailureConditions"]),
      .shared = object["shareID"].is_string(),
      .share_id = object["shareID"].AsString(),
      .skip_node_operations = ReadTexts(object["skipNodeOperations"])};
  auto consumed = ReadNamedQuantities(object["consumedCapacity"]);
  if (!consumed.ok())
    return Annotate(consumed.status(), "consumedCapacity of {}", galen::ToString(device.id));
  device.consumed_capacity = std::move(consumed).value();
  return device;
}

Status ReadSpec(const Json& spec, ResourceClaim& claim) {
  for (const Json& item : spec["requests"].items()) {
    auto request = ReadRequest(item);
    if (!request.ok())
      return Annotate(request.status(), "spec.devices.requests[{}]", item["name"].AsString());
    claim.requests.push_back(std::move(request).value());
  }
  for (const Json& item : spec["constraints"].items())
    claim.constraints.push_back(ReadConstraint(item));
  for (const Json& item : spec["config"].items()) claim.config.push_back(ReadConfig(item));
  return OkStatus();
}

Status ReadWhole(const Json& object, ResourceClaim& claim) {
  RETURN_IF_ERROR(ReadSpec(object["spec"]["devices"], claim));
  const Json& allocation = object["status"]["allocation"];
  if (allocation.is_null()) return OkStatus();
  auto read = ReadAllocation(allocation);
  if (!read.ok()) return Annotate(read.status(), "status.allocation");
  claim.allocation = std::move(read).value();
  return OkStatus();
}

}  // namespace

DeviceClass ReadDeviceClass(const Json& object) {
  const Json& spec = object["spec"];
  return {.name = object["metadata"]["name"].AsString(),
          .selectors = ReadSelectors(spec["selectors"]),
          .config = spec["config"].items(),
          .extended_resource_name = spec["extendedResourceName"].AsString()};
}

std::vector<DeviceToleration> ReadTolerations(const Json& list) {
  std::vector<DeviceToleration> tolerations;
  for (const Json& item : list.items()) tolerations.push_back(ReadToleration(item));
  return tolerations;
}

bool Tolerates(const DeviceToleration& toleration, const DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != ToString(taint.effect)) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  switch (toleration.op) {
    case DeviceToleration::Operator::kEqual:
      return toleration.value == taint.value;
    case DeviceToleration::Operator::kExists:
      return true;
    case DeviceToleration::Operator::kUnknown:
      return false;
  }
  return false;
}

std::string ToString(const ResourceClaim& claim) { return claim.name_space + "/" + claim.name; }

StatusOr<ResourceClaim> ReadResourceClaim(const Json& object) {
  const Json& metadata = object["metadata"];
  ResourceClaim claim{.name_space = metadata["namespace"].AsString(),
                      .name = metadata["name"].AsString(),
                      .uid = metadata["uid"].AsString()};
  const Status status = ReadWhole(object, claim);
  if (!status.ok()) return Annotate(status, "ResourceClaim {}", ToString(claim));
  return claim;
}

ResourceClaim WithDefaults(ResourceClaim claim) {
  for (DeviceRequest& request : claim.requests) {
    for (DeviceWish& wish : request.wishes) {
      if (wish.mode_text.empty()) {
        wish.mode = Mode::kExactCount;
        wish.mode_text = "ExactCount";
      }
      if (wish.mode == Mode::kExactCount && wish.count == 0) wish.count = 1;
    }
  }
  return claim;
}

Json WriteAllocation(const Allocation& allocation) {
  Json object = Json::Object();
  for (const AllocatedDevice& device : allocation.devices)
    object["devices"]["results"].Append(WriteDevice(device));
  for (const AllocatedConfig& config : allocation.config)
    object["devices"]["config"].Append(WriteConfig(config));
  if (allocation.node_selector)
    object["nodeSelector"] = WriteNodeSelector(*allocation.node_selector);
  return object;
}

StatusOr<Allocation> ReadAllocation(const Json& allocation) {
  Allocation read;
  for (const Json& item : allocation["devices"]["results"].items()) {
    ASSIGN_OR_RETURN(AllocatedDevice device, ReadAllocatedDevice(item));
    read.devices.push_back(std::move(device));
  }
  for (const Json& item : allocation["devices"]["config"].items())
    read.config.push_back(ReadConfig(item));
  if (!allocation["nodeSelector"].is_null())
    read.node_selector = ReadNodeSelector(allocation["nodeSelector"]);
  return read;
}

}  // namespace galen::alloc
