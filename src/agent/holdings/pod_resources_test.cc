#include "agent/holdings/pod_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_pod_resources.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PodResourcesAnswer Decode(const std::vector<FakePodDevices>& devices) {
  return DecodePodResources(EncodePodResources(devices), "node-1").value();
}

TEST(PodResources, APodHasThePluginsDevicesOfEachContainer) {
  const PodResourcesAnswer answer = Decode(
      {{"a", "nvidia.com/gpu", {"GPU-1", "GPU-2"}},
       {.pod = "a", .resource = "x.com/nic", .devices = {"0000:01:00.1"}, .container = "side"},
       {"b", "nvidia.com/gpu", {"GPU-3"}}});
  ASSERT_THAT(answer.pods, SizeIs(2));
  EXPECT_EQ(answer.pods[0].pod, (ObjectKey{"default", "a"}));
  EXPECT_THAT(
      answer.pods[0].plugin_devices,
      ElementsAre(PodResources::PluginDevice{"main", {"nvidia.com/gpu", "node-1", "GPU-1"}},
                  PodResources::PluginDevice{"main", {"nvidia.com/gpu", "node-1", "GPU-2"}},
                  PodResources::PluginDevice{"side", {"x.com/nic", "node-1", "0000:01:00.1"}}));
  EXPECT_EQ(answer.left_out, 0u);
}

TEST(PodResources, AClaimThatTwoContainersSeeIsNamedOnce) {
  const FakePodDevices main{"a", "gpu.example.com", {"gpu-0"}, "a-gpu"};
  FakePodDevices side = main;
  side.container = "side";
  const PodResourcesAnswer answer = Decode({main, side});
  ASSERT_THAT(answer.pods, SizeIs(1));
  EXPECT_THAT(answer.pods[0].claim_devices,
              ElementsAre(PodResources::ClaimDevice{
                  {"default", "a-gpu"}, {"gpu.example.com", "node-1", "gpu-0"}, ""}));
}

TEST(PodResources, APodWithoutDevicesIsLeftOutAndIsNoFault) {
  const PodResourcesAnswer answer = Decode({{"a", "nvidia.com/gpu", {}}});
  EXPECT_THAT(answer.pods, IsEmpty());
  EXPECT_EQ(answer.left_out, 0u);
}

TEST(PodResources, NamesThatAreNoneAreCountedAndHideNoOthers) {
  const PodResourcesAnswer answer =
      Decode({{"a", "nvidia.com/gpu", {"GPU 1", std::string(64, 'x'), "GPU-2"}},
              {"a", "cpu", {"1"}},
              {"a", "-x.com/gpu", {"1"}},
              {"B!", "nvidia.com/gpu", {"GPU-3"}},
              {"c", "gpu.example.com", {"GPU_0"}, "a-gpu"},
              {"c", "nvidia.com/gpu", {"GPU-4"}, "a-gpu"}});
  ASSERT_THAT(answer.pods, SizeIs(1));
  EXPECT_THAT(answer.pods[0].plugin_devices, ElementsAre(PodResources::PluginDevice{
                                                 "main", {"nvidia.com/gpu", "node-1", "GPU-2"}}));
  EXPECT_EQ(answer.left_out, 7u);
  std::vector<std::string> places;
  for (const PodResourcesAnswer::Fault& fault : answer.faults) places.push_back(fault.where);
  EXPECT_THAT(places,
              ElementsAre("Pod default/a, container main, resource nvidia.com/gpu",
                          "Pod default/a, container main, resource cpu",
                          "Pod default/a, container main, resource -x.com/gpu",
                          "Pod \"default/B!\"", "Pod default/c, container main, claim a-gpu"));
  EXPECT_THAT(answer.faults[0].why, HasSubstr("device id \"GPU 1\" of resource nvidia.com/gpu"));
}

TEST(PodResources, APodHasNoMoreDevicesThanTheIndexTakes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ClaimIndex::kDevicesPerPodMax + 3; ++i) {
    names.push_back("d" + std::to_string(i));
  }
  const PodResourcesAnswer answer = Decode({{"a", "x.com/many", names}});
  EXPECT_THAT(answer.pods[0].plugin_devices, SizeIs(ClaimIndex::kDevicesPerPodMax));
  EXPECT_EQ(answer.left_out, 3u);
}

TEST(PodResources, BytesThatAreNoAnswerAreRefused) {
  EXPECT_EQ(DecodePodResources("\xff\xff", "node-1").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::agent
