#include "kube/objects/resource_claim.h"

#include <gtest/gtest.h>

#include "kube/test_json.h"

namespace galen::kube {
namespace {

TEST(ResourceClaim, ReadsDevicesAndPods) {
  const StatusOr<Claim> claim = DecodeClaim(JsonOf(R"({
    "metadata": {"name": "c", "namespace": "train", "uid": "cu"},
    "status": {
      "allocation": {"devices": {"results": [
        {"request": "main/big", "driver": "gpu.example.com", "pool": "node-7", "device": "gpu-3"},
        {"request": "nic", "driver": "nic.example.com", "pool": "node-7", "device": "eth0",
         "shareID": "s1", "adminAccess": true}]}},
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "pu"},
                      {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "gu"}]}
  })"));
  ASSERT_TRUE(claim.ok());
  EXPECT_EQ(claim->key, (ObjectKey{"train", "c"}));
  EXPECT_EQ(claim->uid, "cu");
  const std::vector<AllocatedDevice> devices = {
      {"main/big", {"gpu.example.com", "node-7", "gpu-3"}, "", false},
      {"nic", {"nic.example.com", "node-7", "eth0"}, "s1", true}};
  EXPECT_EQ(claim->devices, devices);
  EXPECT_EQ(claim->reserved_for, (std::vector<PodRef>{{{"train", "p"}, "pu"}}));
  EXPECT_EQ(claim->reserved_for_groups, std::vector<std::string>{"g"});
}

TEST(ResourceClaim, OnlyAPodGroupStandsForPodsThatAreNotListed) {
  const auto of_group = [](const char* consumer) {
    Json claim = JsonOf(R"({"metadata": {"name": "c", "uid": "u"}})");
    claim["status"]["reservedFor"] = Json::MakeArray({JsonOf(consumer)});
    return !DecodeClaim(claim)->reserved_for_groups.empty();
  };
  EXPECT_TRUE(
      of_group(R"({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g"})"));
  EXPECT_FALSE(of_group(R"({"apiGroup": "example.com", "resource": "podgroups"})"));
  EXPECT_FALSE(of_group(R"({"apiGroup": "example.com", "resource": "pods"})"));
  EXPECT_FALSE(of_group(R"({"resource": "nodes"})"));
}

TEST(ResourceClaim, OneThatIsNotAllocatedHasNoDevices) {
  const StatusOr<Claim> claim = DecodeClaim(JsonOf(R"({"metadata":{"name":"c","uid":"u"}})"));
  ASSERT_TRUE(claim.ok());
  EXPECT_TRUE(claim->devices.empty());
  EXPECT_TRUE(claim->reserved_for.empty());
  EXPECT_FALSE(DecodeClaim(JsonOf("{}")).ok());
}

}  // namespace
}  // namespace galen::kube
