#include "kube/objects/resource_slice.h"

#include <gtest/gtest.h>

#include "kube/test_json.h"

namespace galen::kube {
namespace {

constexpr std::string_view kSlice = R"({
  "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
  "metadata": {"name": "node-7-gpu-x", "uid": "su", "resourceVersion": "9",
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "node-7", "uid": "nu",
                         "controller": true}]},
  "spec": {
    "driver": "gpu.example.com", "nodeName": "node-7",
    "pool": {"name": "node-7", "generation": 3, "resourceSliceCount": 2},
    "devices": [{
      "name": "gpu-3",
      "attributes": {"model": {"string": "H200"}, "gpu.example.com/serial": {"string": "1653922005112"},
                     "nvlink": {"bool": true}, "index": {"int": 3}, "driver": {"version": "1.2.3"}},
      "capacity": {"memory": {"value": "141Gi"}},
      "taints": [{"key": "gpu.example.com/lost", "value": "x", "effect": "NoExecute",
                  "timeAdded": "2026-11-21T14:02:11Z"}]}]}
})";

TEST(ResourceSlice, ReadsWhatADriverOffers) {
  const StatusOr<ResourceSlice> slice = DecodeSlice(JsonOf(kSlice));
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->name, "node-7-gpu-x");
  EXPECT_EQ(slice->resource_version, "9");
  EXPECT_EQ(slice->driver, "gpu.example.com");
  EXPECT_EQ(slice->pool, "node-7");
  EXPECT_EQ(slice->generation, 3);
  EXPECT_EQ(slice->slice_count, 2);
  EXPECT_EQ(slice->node, "node-7");
  ASSERT_EQ(slice->devices.size(), 1u);
  const SliceDevice& device = slice->devices[0];
  EXPECT_EQ(device.attributes.at("nvlink"), AttributeValue(true));
  EXPECT_EQ(device.attributes.at("index"), AttributeValue(std::int64_t{3}));
  EXPECT_EQ(device.attributes.at("driver"), AttributeValue(Version{"1.2.3"}));
  EXPECT_EQ(device.capacity.at("memory"), "141Gi");
  ASSERT_EQ(device.taints.size(), 1u);
  EXPECT_EQ(device.taints[0].effect, TaintEffect::kNoExecute);
}

TEST(ResourceSlice, IsWrittenAsItWasRead) {
  EXPECT_EQ(EncodeSlice(*DecodeSlice(JsonOf(kSlice))), JsonOf(kSlice));
}

TEST(ResourceSlice, ANewOneHasNoVersionAndEmptyPartsAreLeftOut) {
  ResourceSlice slice;
  slice.name = "s";
  slice.driver = "d";
  slice.pool = "p";
  slice.devices = {{.name = "x", .attributes = {}, .capacity = {}, .taints = {}}};
  EXPECT_EQ(EncodeSlice(slice).Dump(),
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},)"
            R"("spec":{"allNodes":true,"devices":[{"name":"x"}],"driver":"d",)"
            R"("pool":{"generation":0,"name":"p","resourceSliceCount":0}}})");
}

TEST(ResourceSlice, KnowsWhichDevicesClaimsShare) {
  EXPECT_FALSE(DecodeSlice(JsonOf(kSlice))->devices[0].allow_multiple_allocations);
  Json slice = JsonOf(kSlice);
  slice["spec"]["devices"].MutableItems()[0]["allowMultipleAllocations"] = true;
  EXPECT_TRUE(DecodeSlice(slice)->devices[0].allow_multiple_allocations);
  EXPECT_EQ(EncodeSlice(*DecodeSlice(slice)), slice);
}

TEST(ResourceSlice, AttributesOfLaterVersionsAreLeftOut) {
  Json slice = JsonOf(kSlice);
  slice["spec"]["devices"].MutableItems()[0]["attributes"]["peers"] =
      JsonOf(R"({"strings":["a"]})");
  EXPECT_FALSE(DecodeSlice(slice)->devices[0].attributes.contains("peers"));
}

TEST(IdentityOf, FindsSerialAndModelByTheNamesThatDriversUse) {
  const ResourceSlice slice = *DecodeSlice(JsonOf(kSlice));
  EXPECT_EQ(IdentityOf(slice, slice.devices[0]),
            (DeviceIdentity{{"gpu.example.com", "node-7", "gpu-3"}, "1653922005112", "H200"}));
  SliceDevice other{.name = "n", .attributes = {}, .capacity = {}, .taints = {}};
  EXPECT_EQ(IdentityOf(slice, other).serial, "");
  other.attributes = {{"e.com/productName", std::string("X")}, {"uuid", std::string("GPU-1")}};
  EXPECT_EQ(IdentityOf(slice, other).model, "X");
  EXPECT_EQ(IdentityOf(slice, other).serial, "GPU-1");
  other.attributes["serialNumber"] = std::int64_t{42};
  EXPECT_EQ(IdentityOf(slice, other).serial, "42") << "a serial says more than a uuid";
}

TEST(HardwareIdsOf, ReadsTheStandardAddressAndWhatVendorsCallTheirs) {
  SliceDevice device{.name = "n", .attributes = {}, .capacity = {}, .taints = {}};
  EXPECT_EQ(HardwareIdsOf(device), HardwareIds{});
  device.attributes = {{"pcieBusID", std::string("00000000:4B:00.0")},
                       {"uuid", std::string("MIG-1")},
                       {"parentUUID", std::string("GPU-1")},
                       {"type", std::string("mig")}};
  EXPECT_EQ(
      HardwareIdsOf(device),
      (HardwareIds{
          .uuid = "MIG-1", .pci_address = "0000:4b:00.0", .parent_uuid = "GPU-1", .type = "mig"}));
  device.attributes["resource.kubernetes.io/pciBusID"] = std::string("0000:4c:00.0");
  device.attributes["e.com/serialNumber"] = std::int64_t{42};
  EXPECT_EQ(HardwareIdsOf(device).pci_address, "0000:4c:00.0") << "the standard one comes first";
  EXPECT_EQ(HardwareIdsOf(device).serial, "42");
}

}  // namespace
}  // namespace galen::kube
