#include "agent/publish/pod_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using UserKind = kube::Container::Kind;

constexpr WallTime kSince = WallTime(1'795'269'600s);

DeviceId ShownGpu(int i) { return {"gpu.example.com", "node-1", "gpu-" + std::to_string(i)}; }

DeviceHealth Health(int i, HealthState state, const std::string& code = "",
                    const std::string& message = "") {
  return {.id = ShownGpu(i),
          .state = state,
          .cause = {.code = code, .message = message},
          .since = kSince};
}

const DeviceHealth kLost =
    Health(3, HealthState::kUnhealthy, "XidGpuLost", "XID 79: GPU has fallen off the bus");
const DeviceHealth kWell = Health(4, HealthState::kHealthy);
const DeviceHealth kSlow = [] {
  DeviceHealth health =
      Health(5, HealthState::kDegraded, "PcieWidthReduced", "PCIe link x8, expected x16");
  health.share = 0.5;
  return health;
}();
const DeviceHealth kSilent = Health(6, HealthState::kUnknown, "DriverSilent", "no report for 30 s");

HeldDevice Held(const DeviceId& id, const std::string& resource_id = "",
                std::vector<ContainerUse> uses = {{"train", UserKind::kMain, "claim:gpu"}}) {
  return {.device = id,
          .resource_id = resource_id.empty() ? ToString(id) : resource_id,
          .uses = std::move(uses)};
}

HealthOf Among(std::vector<DeviceHealth> healths) {
  return [healths = std::move(healths)](const DeviceId& id) {
    for (const DeviceHealth& health : healths) {
      if (health.id == id) return health;
    }
    return DeviceHealth{.id = id};
  };
}

TEST(PodStatus, ADevicePluginsDeviceHasAnEntryByItsResourceBesideTheClaims) {
  const DeviceId gpu{"nvidia.com/gpu", "node-1", "GPU-5f3c"};
  DeviceHealth lost = kLost;
  lost.id = gpu;
  const WantedPodStatus wanted = WantedStatusOf(
      {Held(ShownGpu(4)), Held(gpu, "GPU-5f3c", {{"train", UserKind::kMain, "nvidia.com/gpu"}})},
      Among({kWell, lost}), DegradedAs::kHealthy);
  EXPECT_THAT(wanted.annotation, HasSubstr("GPU-5f3c Unhealthy since"));
  EXPECT_THAT(wanted.annotation, EndsWith("; gpu-4 Healthy"));
  EXPECT_EQ(wanted.condition.status, "False");
  const std::vector<kube::ResourceStatus>& entries = wanted.main.at("train");
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].name, "claim:gpu");
  EXPECT_EQ(entries[1].name, "nvidia.com/gpu");
  EXPECT_EQ(entries[1].resources[0].resource_id, "GPU-5f3c");
  EXPECT_EQ(entries[1].resources[0].health, "Unhealthy");
}

TEST(PodStatus, TheAnnotationListsTheWorstFirst) {
  const auto findings = FindingsOf({Held(ShownGpu(4)), Held(ShownGpu(5)), Held(ShownGpu(3))},
                                   Among({kLost, kWell, kSlow}));
  EXPECT_EQ(AnnotationOf(findings),
            "gpu-3 Unhealthy since 2026-11-21T14:00:00Z: XID 79: GPU has fallen off the bus; "
            "gpu-5 Degraded 0.50 since 2026-11-21T14:00:00Z: PCIe link x8, expected x16; "
            "gpu-4 Healthy");
}

TEST(PodStatus, TheAnnotationFitsAKibibyteAndCountsTheRest) {
  std::vector<DeviceHealth> findings;
  for (int i = 0; i < 100; ++i)
    findings.push_back(Health(i, HealthState::kUnhealthy, "X", "fault"));
  const std::string text = AnnotationOf(findings);
  EXPECT_LE(text.size(), kAnnotationBytesMax);
  EXPECT_GT(text.size(), kAnnotationBytesMax - 100);
  EXPECT_THAT(text, EndsWith(" more"));
}

TEST(PodStatus, OneSentenceOfAMegabyteDoesNotFillTheAnnotation) {
  const std::string text =
      AnnotationOf({Health(0, HealthState::kUnhealthy, "X", std::string(1'000'000, 'x')), kWell});
  EXPECT_THAT(text, EndsWith("; gpu-4 Healthy"));
}

TEST(PodStatus, DevicesOfOneNameAreDistinguished) {
  DeviceHealth twin = kWell;
  twin.id.driver = "other.example.com";
  EXPECT_EQ(AnnotationOf({kWell, twin}),
            "gpu.example.com/node-1/gpu-4 Healthy; other.example.com/node-1/gpu-4 Healthy");
}

TEST(PodStatus, TheConditionIsFalseForAnyBadDeviceWithTheWorstsCode) {
  const WantedCondition condition = ConditionOf({kLost, kSilent, kWell}, DegradedAs::kHealthy);
  EXPECT_EQ(condition.status, "False");
  EXPECT_EQ(condition.reason, "XidGpuLost");
  EXPECT_THAT(condition.message, HasSubstr("XID 79"));
}

TEST(PodStatus, TheConditionIsUnknownWhenNothingIsBadAndSomethingUnknown) {
  const WantedCondition condition = ConditionOf({kSlow, kSilent, kWell}, DegradedAs::kHealthy);
  EXPECT_EQ(condition.status, "Unknown");
  EXPECT_EQ(condition.reason, "DriverSilent");
}

TEST(PodStatus, ADegradedDeviceIsHealthyWithAMessageOrUnhealthyByPolicy) {
  EXPECT_EQ(ConditionOf({kSlow, kWell}, DegradedAs::kHealthy).status, "True");
  EXPECT_EQ(ConditionOf({kSlow, kWell}, DegradedAs::kHealthy).reason, "PcieWidthReduced");
  EXPECT_EQ(ConditionOf({kSlow, kWell}, DegradedAs::kUnhealthy).status, "False");
  EXPECT_EQ(ConditionOf({kWell}, DegradedAs::kHealthy),
            (WantedCondition{"True", "AllHealthy", ""}));
}

TEST(PodStatus, ContainersListTheirDevicesInOneOrder) {
  const WantedPodStatus wanted =
      WantedStatusOf({Held(ShownGpu(4), "b"), Held(ShownGpu(3), "a"),
                      Held(ShownGpu(5), "c", {{"train", UserKind::kMain, "claim:a"}})},
                     Among({kLost, kWell, kSlow}), DegradedAs::kHealthy);
  const std::vector<kube::ResourceStatus>& list = wanted.main.at("train");
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].name, "claim:a");
  EXPECT_THAT(list[0].resources,
              ElementsAre(kube::ResourceHealth{"c", "Healthy", "PCIe link x8, expected x16"}));
  EXPECT_THAT(list[1].resources,
              ElementsAre(kube::ResourceHealth{"a", "Unhealthy", kLost.cause.message},
                          kube::ResourceHealth{"b", "Healthy", ""}));
}

TEST(PodStatus, OfTwoDevicesOfOneIdTheWorstCounts) {
  const WantedPodStatus wanted = WantedStatusOf(
      {Held(ShownGpu(4), "same"), Held(ShownGpu(3), "same"), Held(ShownGpu(6), "same")},
      Among({kLost, kWell, kSilent}), DegradedAs::kHealthy);
  EXPECT_THAT(wanted.main.at("train")[0].resources,
              ElementsAre(Field(&kube::ResourceHealth::health, "Unhealthy")));
}

TEST(PodStatus, InitContainersHaveTheirOwnListAndEphemeralOnesNone) {
  const WantedPodStatus wanted =
      WantedStatusOf({Held(ShownGpu(4), "",
                           {{"proxy", UserKind::kSidecar, "claim:gpu"},
                            {"debug", UserKind::kEphemeral, "claim:gpu"}})},
                     Among({kWell}), DegradedAs::kHealthy);
  EXPECT_THAT(wanted.main, IsEmpty());
  EXPECT_THAT(wanted.init, SizeIs(1));
  EXPECT_EQ(wanted.init.begin()->first, "proxy");
}

TEST(PodStatus, MessagesKeepWithinKubernetesBound) {
  const DeviceHealth wordy = Health(3, HealthState::kUnhealthy, "X", std::string(5000, 'x'));
  const WantedPodStatus wanted =
      WantedStatusOf({Held(ShownGpu(3))}, Among({wordy}), DegradedAs::kHealthy);
  EXPECT_EQ(wanted.main.at("train")[0].resources[0].message.size(), kStatusMessageBytesMax);
  EXPECT_LE(wanted.condition.message.size(), kStatusMessageBytesMax);
}

}  // namespace
}  // namespace galen::agent
