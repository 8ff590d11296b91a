#include "agent/holdings/plugin_holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"
#include "agent/holdings/fake_pod_resources.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kUuid = "GPU-5f3c1c8e-0000-4000-8000-000000000001";
ObjectKey PluginPod(const std::string& name) { return {"default", name}; }

TEST(IdsOfPluginDevice, AUuidIsOneAndAPciAddressIsOne) {
  EXPECT_EQ(IdsOfPluginDevice(kUuid), HardwareIds{.uuid = kUuid});
  EXPECT_EQ(IdsOfPluginDevice("0000:4B:00.0"), HardwareIds{.pci_address = "0000:4b:00.0"});
  const std::string plain = "5f3c1c8e-0000-4000-8000-00000000000a";
  EXPECT_EQ(IdsOfPluginDevice(plain), HardwareIds{.uuid = plain});
}

TEST(IdsOfPluginDevice, ATimeSliceIsAPartOfItsGpu) {
  EXPECT_EQ(IdsOfPluginDevice(std::string(kUuid) + "::3"), HardwareIds{.parent_uuid = kUuid});
  EXPECT_EQ(IdsOfPluginDevice("MIG-5f3c::1"), HardwareIds{.parent_uuid = "MIG-5f3c"});
}

TEST(IdsOfPluginDevice, AMigDeviceOfTheOldFormIsAPartOfItsGpuAndOneOfTheNewFormIsItself) {
  EXPECT_EQ(IdsOfPluginDevice("MIG-" + std::string(kUuid) + "/1/0"),
            HardwareIds{.parent_uuid = kUuid});
  EXPECT_EQ(IdsOfPluginDevice("MIG-" + std::string(kUuid) + "/1/0::2"),
            HardwareIds{.parent_uuid = kUuid});
  EXPECT_EQ(IdsOfPluginDevice("MIG-5f3c1c8e"), HardwareIds{.uuid = "MIG-5f3c1c8e"});
}

TEST(IdsOfPluginDevice, AnyOtherIdMayBeASerial) {
  EXPECT_EQ(IdsOfPluginDevice("1653922005112"), HardwareIds{.serial = "1653922005112"});
}

TEST(IdsOfPluginDevice, ANumberIsNoSerial) {
  EXPECT_EQ(IdsOfPluginDevice("0"), HardwareIds());
  EXPECT_EQ(IdsOfPluginDevice("127"), HardwareIds());
  EXPECT_EQ(IdsOfPluginDevice("0::1"), HardwareIds());
}

class PluginHoldingsTest : public ::testing::Test {
 protected:
  // Its containers "train" and "main" and the sidecar "setup" ask for a GPU; its kubelet has
  // started it.
  kube::Pod& AddAdmitted(const std::string& name) {
    kube::Pod& pod = view_.AddPod(name);
    pod.started = WallTime{};
    pod.containers[0].resources = {"nvidia.com/gpu"};
    for (const char* more : {"main", "setup"}) {
      pod.containers.push_back(pod.containers[0]);
      pod.containers.back().name = more;
    }
    pod.containers.back().kind = kube::Container::Kind::kSidecar;
    return pod;
  }
  std::vector<ObjectKey> Say(const std::vector<FakePodDevices>& devices) {
    return holdings_.Apply(*DecodePodResources(EncodePodResources(devices), "node-1"),
                           holdings_.PodsNow());
  }
  std::vector<std::string> Held(const std::string& pod) {
    std::vector<std::string> held;
    for (const HeldDevice& device : holdings_.DevicesOf(view_.pods.at(PluginPod(pod)))) {
      held.push_back(ToString(device.device));
    }
    return held;
  }

  FakeNodeView view_;
  PluginHoldings holdings_{view_};
};

TEST_F(PluginHoldingsTest, APodHoldsWhatTheKubeletSays) {
  AddAdmitted("a");
  EXPECT_THAT(Say({{"a", "nvidia.com/gpu", {"GPU-2", "GPU-1"}, "", "train"}}),
              ElementsAre(PluginPod("a")));
  const std::vector<HeldDevice> held = holdings_.DevicesOf(view_.pods.at(PluginPod("a")));
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_EQ(held[0].device, (DeviceId{"nvidia.com/gpu", "node-1", "GPU-1"}));
  EXPECT_EQ(held[0].resource, "nvidia.com/gpu");
  EXPECT_EQ(held[0].resource_id, "GPU-1");
  EXPECT_THAT(held[0].uses,
              ElementsAre(ContainerUse{"train", kube::Container::Kind::kMain, "nvidia.com/gpu"}));
  EXPECT_THAT(holdings_.PodsOf(held[0].device), ElementsAre(PluginPod("a")));
  EXPECT_THAT(holdings_.OfferedBy("nvidia.com/gpu"), SizeIs(2));
  EXPECT_THAT(holdings_.OfferedBy("x.com/gpu"), IsEmpty());
}

TEST_F(PluginHoldingsTest, TheSameAnswerIsNoNews) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}});
  EXPECT_THAT(Say({{"a", "nvidia.com/gpu", {"GPU-1"}}}), IsEmpty());
}

TEST_F(PluginHoldingsTest, AKubeletThatKnowsOfNoPodYetTakesNothingAway) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}});
  EXPECT_THAT(Say({}), IsEmpty());
  EXPECT_THAT(Held("a"), SizeIs(1));
}

// It names a Pod's claims from a file of their own.
TEST_F(PluginHoldingsTest, AKubeletThatKnowsOfAPodsClaimsOnlyTakesNothingAway) {
  AddAdmitted("a");
  const FakePodDevices of_claim{"a", "gpu.example.com", {"gpu-0"}, "a-gpu"};
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}, of_claim});
  EXPECT_THAT(Say({of_claim}), IsEmpty());
  EXPECT_THAT(Held("a"), SizeIs(1));
  EXPECT_TRUE(holdings_.Knows(view_.pods.at(PluginPod("a"))));
}

TEST_F(PluginHoldingsTest, AnAnswerAboutAPodsNamesakeIsNotItsOwn) {
  AddAdmitted("a");
  const PluginHoldings::AskedPods asked = holdings_.PodsNow();
  view_.pods.at(PluginPod("a")).meta.uid = "another";
  const auto answer =
      DecodePodResources(EncodePodResources({{"a", "nvidia.com/gpu", {"GPU-1"}}}), "node-1");
  EXPECT_THAT(holdings_.Apply(*answer, asked), IsEmpty());
  EXPECT_THAT(Held("a"), IsEmpty());
}

// The kubelet names a Pod before that, which had the name, until it knows of this one.
TEST_F(PluginHoldingsTest, AnAnswerCountsOnlyForAPodThatTheKubeletHasStarted) {
  AddAdmitted("a").started.reset();
  EXPECT_THAT(Say({{"a", "nvidia.com/gpu", {"GPU-1"}}}), IsEmpty());
  EXPECT_FALSE(holdings_.Knows(view_.pods.at(PluginPod("a"))));
  view_.pods.at(PluginPod("a")).started = WallTime{};
  Say({{"a", "nvidia.com/gpu", {"GPU-2"}}});
  EXPECT_THAT(Held("a"), ElementsAre("nvidia.com/gpu/node-1/GPU-2"));
}

TEST_F(PluginHoldingsTest, OfTwoPodsOfOneNameInAnAnswerNoneIsTaken) {
  AddAdmitted("a");
  PodResources said{.pod = PluginPod("a"),
                    .plugin_devices = {{"main", {"nvidia.com/gpu", "node-1", "GPU-1"}}}};
  PodResourcesAnswer answer{.pods = {said}};
  said.plugin_devices[0].device.device = "GPU-2";
  answer.pods.push_back(said);
  EXPECT_THAT(holdings_.Apply(answer, holdings_.PodsNow()), IsEmpty());
  EXPECT_THAT(Held("a"), IsEmpty());
}

TEST_F(PluginHoldingsTest, APodHoldsOnlyWhatItsContainersAskFor) {
  AddAdmitted("a");
  EXPECT_THAT(Say({{"a", "x.com/nic", {"nic-0"}}, {"a", "nvidia.com/gpu", {"GPU-1"}, "", "b"}}),
              IsEmpty());
  Say({{"a", "x.com/nic", {"nic-0"}}, {"a", "nvidia.com/gpu", {"GPU-1"}}});
  EXPECT_THAT(Held("a"), ElementsAre("nvidia.com/gpu/node-1/GPU-1"));
}

TEST_F(PluginHoldingsTest, APodThatHasEndedIsNoHolder) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}});
  const DeviceId gpu{"nvidia.com/gpu", "node-1", "GPU-1"};
  EXPECT_THAT(holdings_.PodsOf(gpu), ElementsAre(PluginPod("a")));
  view_.pods.at(PluginPod("a")).phase = "Succeeded";
  EXPECT_THAT(holdings_.PodsOf(gpu), IsEmpty());
}

TEST_F(PluginHoldingsTest, APodMadeAgainUnderItsNameHoldsNothingOfItsNamesake) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}});
  view_.pods.at(PluginPod("a")).meta.uid = "another";
  EXPECT_THAT(Held("a"), IsEmpty()) << "even before it is known as changed";
  holdings_.PodChanged(PluginPod("a"));
  EXPECT_THAT(holdings_.OfferedBy("nvidia.com/gpu"), IsEmpty());
}

TEST_F(PluginHoldingsTest, APodThatHasEndedKeepsWhatItHeld) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}});
  view_.pods.at(PluginPod("a")).phase = "Failed";
  holdings_.PodChanged(PluginPod("a"));
  EXPECT_THAT(Say({{"a", "nvidia.com/gpu", {"GPU-2"}}}), IsEmpty());
  EXPECT_THAT(Held("a"), ElementsAre("nvidia.com/gpu/node-1/GPU-1"));
  view_.pods.clear();
  holdings_.PodChanged(PluginPod("a"));
  EXPECT_THAT(holdings_.OfferedBy("nvidia.com/gpu"), IsEmpty());
}

TEST_F(PluginHoldingsTest, ADeviceOfTwoContainersIsHeldOnce) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}, "", "setup"}, {"a", "nvidia.com/gpu", {"GPU-1"}}});
  const std::vector<HeldDevice> held = holdings_.DevicesOf(view_.pods.at(PluginPod("a")));
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_THAT(held[0].uses, SizeIs(2));
}

TEST_F(PluginHoldingsTest, ADeviceThatIsNamedTwiceForAContainerIsUsedByItOnce) {
  AddAdmitted("a");
  Say({{"a", "nvidia.com/gpu", {"GPU-1"}}, {"a", "nvidia.com/gpu", {"GPU-1"}}});
  const std::vector<HeldDevice> held = holdings_.DevicesOf(view_.pods.at(PluginPod("a")));
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_THAT(held[0].uses, SizeIs(1));
}

}  // namespace
}  // namespace galen::agent
