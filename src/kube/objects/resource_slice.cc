#include "kube/objects/resource_slice.h"

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace galen::kube {
namespace {

// nullopt: a kind of value that came after v1 of 1.34 (lists); left out.
std::optional<AttributeValue> DecodeAttribute(const Json& value) {
  if (value["bool"].is_bool()) return value["bool"].AsBool();
  if (value["int"].is_int()) return value["int"].AsInt();
  if (value["string"].is_string()) return value["string"].AsString();
  if (value["version"].is_string()) return Version{value["version"].AsString()};
  return std::nullopt;
}

Json EncodeAttribute(const AttributeValue& value) {
  struct Encoder {
    Json operator()(bool v) const { return Json::MakeObject({{"bool", v}}); }
    Json operator()(std::int64_t v) const { return Json::MakeObject({{"int", v}}); }
    Json operator()(const std::string& v) const { return Json::MakeObject({{"string", v}}); }
    Json operator()(const Version& v) const { return Json::MakeObject({{"version", v.text}}); }
  };
  return std::visit(Encoder{}, value);
}

DeviceTaint DecodeTaint(const Json& taint) {
  return {.key = taint["key"].AsString(),
          .value = taint["value"].AsString(),
          .effect = ParseTaintEffect(taint["effect"].AsString()),
          .added = DecodeTime(taint["timeAdded"])};
}

Json EncodeTaint(const DeviceTaint& taint) {
  Json out = Json::MakeObject({{"key", taint.key}, {"effect", ToString(taint.effect)}});
  if (!taint.value.empty()) out["value"] = taint.value;
  if (taint.added) out["timeAdded"] = FormatRfc3339(*taint.added);
  return out;
}

SliceDevice DecodeSliceDevice(const Json& device) {
  SliceDevice out;
  out.name = device["name"].AsString();
  for (const auto& [name, value] : device["attributes"].members()) {
    if (auto decoded = DecodeAttribute(value)) out.attributes.emplace(name, *std::move(decoded));
  }
  for (const auto& [name, value] : device["capacity"].members()) {
    // v1 wraps the quantity, for policies that we do not read.
    out.capacity[name] = value["value"].AsString();
  }
  for (const Json& taint : device["taints"].items()) out.taints.push_back(DecodeTaint(taint));
  out.allow_multiple_allocations = device["allowMultipleAllocations"].AsBool();
  return out;
}

Json EncodeSliceDevice(const SliceDevice& device) {
  Json out = Json::MakeObject({{"name", device.name}});
  for (const auto& [name, value] : device.attributes) {
    out["attributes"][name] = EncodeAttribute(value);
  }
  for (const auto& [name, quantity] : device.capacity) {
    out["capacity"][name] = Json::MakeObject({{"value", quantity}});
  }
  for (const DeviceTaint& taint : device.taints) out["taints"].Append(EncodeTaint(taint));
  if (device.allow_multiple_allocations) out["allowMultipleAllocations"] = true;
  return out;
}

std::string TextOf(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* version = std::get_if<Version>(&value)) return version->text;
  return "";
}

// The first of `names` that the device has, whatever domain stands before it.
std::string FirstOf(const SliceDevice& device, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const auto& [qualified, value] : device.attributes) {
      const std::size_t slash = qualified.find('/');
      if (qualified.substr(slash == std::string::npos ? 0 : slash + 1) == name)
        return TextOf(value);
    }
  }
  return "";
}

}  // namespace

StatusOr<ResourceSlice> DecodeSlice(const Json& object) {
  ASSIGN_OR_RETURN(Meta meta, DecodeMeta(object));
  const Json& spec = object["spec"];
  ResourceSlice slice;
  slice.name = meta.key.name;
  slice.uid = meta.uid;
  slice.owners = std::move(meta.owners);
  slice.resource_version = object["metadata"]["resourceVersion"].AsString();
  slice.driver = spec["driver"].AsString();
  slice.pool = spec["pool"]["name"].AsString();
  slice.generation = spec["pool"]["generation"].AsInt();
  slice.slice_count = spec["pool"]["resourceSliceCount"].AsInt();
  slice.node = spec["nodeName"].AsString();
  for (const Json& device : spec["devices"].items())
    slice.devices.push_back(DecodeSliceDevice(device));
  return slice;
}

Json EncodeSlice(const ResourceSlice& slice) {
  Json meta = Json::MakeObject({{"name", slice.name}});
  if (!slice.uid.empty()) meta["uid"] = slice.uid;
  if (!slice.resource_version.empty()) meta["resourceVersion"] = slice.resource_version;
  if (!slice.owners.empty()) meta["ownerReferences"] = EncodeOwners(slice.owners);
  Json spec =
      Json::MakeObject({{"driver", slice.driver},
                        {"pool", Json::MakeObject({{"name", slice.pool},
                                                   {"generation", slice.generation},
                                                   {"resourceSliceCount", slice.slice_count}})}});
  if (slice.node.empty()) {
    spec["allNodes"] = true;
  } else {
    spec["nodeName"] = slice.node;
  }
  spec["devices"] = Json::Array{};
  for (const SliceDevice& device : slice.devices) spec["devices"].Append(EncodeSliceDevice(device));
  return Json::MakeObject({{"apiVersion", "resource.k8s.io/v1"},
                           {"kind", "ResourceSlice"},
                           {"metadata", std::move(meta)},
                           {"spec", std::move(spec)}});
}

DeviceIdentity IdentityOf(const ResourceSlice& slice, const SliceDevice& device) {
  return {.id = {.driver = slice.driver, .pool = slice.pool, .device = device.name},
          .serial = FirstOf(device, {"serial", "serialNumber", "uuid"}),
          .model = FirstOf(device, {"model", "productName"})};
}

HardwareIds HardwareIdsOf(const SliceDevice& device) {
  return {.uuid = FirstOf(device, {"uuid"}),
          .pci_address =
              NormalPciAddress(FirstOf(device, {"pciBusID", "pcieBusID", "pciAddress", "pciAddr"})),
          .serial = FirstOf(device, {"serial", "serialNumber"}),
          .parent_uuid = FirstOf(device, {"parentUUID"}),
          .type = FirstOf(device, {"type"})};
}

}  // namespace galen::kube
