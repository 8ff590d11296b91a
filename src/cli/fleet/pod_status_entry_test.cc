#include <gtest/gtest.h>

#include "base/data/yaml.h"
#include "cli/fleet/fleet.h"

namespace galen::cli {
namespace {

const DeviceId kDev0{"ref.example.com", "node-a", "dev-0"};
const DeviceId kDev1{"ref.example.com", "node-a", "dev-1"};

// As kubelet 1.37.1 writes it, the claim made from a template and the CDI id chosen by the driver.
kube::Pod PodOfKubelet(const std::string& allocated) {
  return *kube::DecodePod(*ParseYaml(R"(
metadata: {name: trainer-0, namespace: train, uid: 447b54e1}
spec:
  nodeName: node-a
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  containers: [{name: train, resources: {claims: [{name: gpu}]}}]
status:
  phase: Running
  resourceClaimStatuses: [{name: gpu, resourceClaimName: trainer-0-gpu-x7k2p}]
  containerStatuses:
  - name: train
    state: {running: {startedAt: "2026-11-21T10:00:00Z"}}
    allocatedResourcesStatus: )" + allocated));
}

Claim ClaimOf(std::vector<AllocatedDevice> devices) {
  Claim claim;
  claim.key = {"train", "trainer-0-gpu-x7k2p"};
  claim.uid = "9856bc7a";
  claim.devices = std::move(devices);
  return claim;
}

std::string Said(const kube::Pod& pod, const Claim& claim, const DeviceId& device) {
  const kube::ResourceHealth* health = EntryOfDevice(pod, claim, device);
  return health == nullptr ? "nothing" : health->health;
}

TEST(PodStatusEntry, IsTheKubeletsOfTheOnlyDeviceWhateverItsCdiId) {
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:gpu', resources: [{resourceID: 'ref.example.com/test=9856bc7a-dev-0', "
      "health: Unhealthy, message: 'ECC error count exceeded threshold'}]}]");
  EXPECT_EQ(Said(pod, ClaimOf({{"req", kDev0, "", false}}), kDev0), "Unhealthy");
  const kube::Pod other = PodOfKubelet(
      "[{name: 'claim:gpu/req', resources: [{resourceID: 'nvidia.com/gpu=GPU-1b2c', "
      "health: Unhealthy}]}]");
  EXPECT_EQ(Said(other, ClaimOf({{"req", kDev0, "", false}}), kDev0), "Unhealthy");
}

TEST(PodStatusEntry, DistinguishesSeveralDevicesOfAClaimByTheEndOfTheirIds) {
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:gpu', resources: ["
      "{resourceID: 'ref.example.com/test=9856bc7a-dev-1', health: Unhealthy}, "
      "{resourceID: 'ref.example.com/test=9856bc7a-dev-0', health: Healthy}]}]");
  const Claim claim = ClaimOf({{"req", kDev0, "", false}, {"req", kDev1, "", false}});
  EXPECT_EQ(Said(pod, claim, kDev0), "Healthy");
  EXPECT_EQ(Said(pod, claim, kDev1), "Unhealthy");
}

TEST(PodStatusEntry, DoesNotTakeOneNameForAnotherThatItEnds) {
  const DeviceId one{"ref.example.com", "node-a", "1"};
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:gpu', resources: ["
      "{resourceID: 'ref.example.com/test=9856bc7a-dev-1', health: Unhealthy}, "
      "{resourceID: 'ref.example.com/test=9856bc7a-1', health: Healthy}]}]");
  const Claim claim = ClaimOf({{"req", one, "", false}, {"req", kDev1, "", false}});
  EXPECT_EQ(Said(pod, claim, one), "Healthy");
  EXPECT_EQ(Said(pod, claim, kDev1), "Unhealthy");
}

TEST(PodStatusEntry, GoesByTheRequestThatTheEntryNames) {
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:gpu/big', resources: [{resourceID: 'x/y=a', health: Unhealthy}]},"
      " {name: 'claim:gpu/small', resources: [{resourceID: 'x/y=b', health: Healthy}]}]");
  const Claim claim = ClaimOf({{"big/first", kDev0, "", false}, {"small", kDev1, "", false}});
  EXPECT_EQ(Said(pod, claim, kDev0), "Unhealthy");
  EXPECT_EQ(Said(pod, claim, kDev1), "Healthy");
}

TEST(PodStatusEntry, IsNotGuessedWhenItCouldBeOfEither) {
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:gpu', resources: [{resourceID: 'x/y=a', health: Unhealthy}, "
      "{resourceID: 'x/y=b', health: Healthy}]}]");
  const Claim claim = ClaimOf({{"req", kDev0, "", false}, {"req", kDev1, "", false}});
  EXPECT_EQ(Said(pod, claim, kDev0), "nothing");
}

TEST(PodStatusEntry, OfAnotherClaimOrOfADevicePluginIsNoneOfThisOne) {
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:nic', resources: [{resourceID: 'x/y=dev-0', health: Unhealthy}]},"
      " {name: vendor.com/gpu, resources: [{resourceID: dev-0, health: Unhealthy}]}]");
  EXPECT_EQ(Said(pod, ClaimOf({{"req", kDev0, "", false}}), kDev0), "nothing");
}

TEST(PodStatusEntry, IsReadByTheUpstreamIdToo) {
  const kube::Pod pod = PodOfKubelet(
      "[{name: 'claim:gpu', resources: ["
      "{resourceID: ref.example.com/node-a/dev-1, health: Unknown}, "
      "{resourceID: ref.example.com/node-a/dev-0, health: Healthy}]}]");
  const Claim claim = ClaimOf({{"req", kDev0, "", false}, {"req", kDev1, "", false}});
  EXPECT_EQ(Said(pod, claim, kDev1), "Unknown");
}

}  // namespace
}  // namespace galen::cli
