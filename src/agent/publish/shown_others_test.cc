#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/publish/pod_status.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kShownSince = WallTime(1'795'269'600s);
const DeviceId kOfClaim{"gpu.example.com", "node-1", "gpu-0"};
const DeviceId kOfPlugin{"nvidia.com/gpu", "node-1", "GPU-5f3c"};
const std::vector<HeldDevice> kHeldByClaim = {{.device = kOfClaim, .claim = "a-gpu"}};

DeviceHealth Shown(const DeviceId& id, HealthState state, const std::string& code = "",
                   const std::string& message = "") {
  return {
      .id = id, .state = state, .cause = {.code = code, .message = message}, .since = kShownSince};
}

// A Pod that asks for a GPU of the plugin and shows all of this.
kube::Pod PodThatShows(const std::vector<DeviceHealth>& findings) {
  kube::Pod pod;
  pod.node = "node-1";
  pod.containers = {{.name = "main", .image = "", .claims = {}, .resources = {"nvidia.com/gpu"}}};
  std::vector<HeldDevice> held;
  for (const DeviceHealth& finding : findings) held.push_back({.device = finding.id});
  const WantedPodStatus shown = WantedStatusOf(
      held,
      [&](const DeviceId& id) {
        return *std::ranges::find(findings, id, [](const DeviceHealth& f) { return f.id; });
      },
      DegradedAs::kHealthy);
  pod.devices_annotation = shown.annotation;
  pod.conditions = {{.type = std::string(kube::kDevicesCondition),
                     .status = shown.condition.status,
                     .reason = shown.condition.reason,
                     .message = shown.condition.message,
                     .changed = std::nullopt}};
  return pod;
}

// What the Pod is to show once its claim's device alone is known, and is like this.
WantedPodStatus WantedOn(const kube::Pod& pod, const DeviceHealth& of_claim) {
  return WantedStatusOf(
      kHeldByClaim, [&](const DeviceId&) { return of_claim; }, DegradedAs::kHealthy,
      ShownOthersOf(pod, kHeldByClaim));
}

const DeviceHealth kClaimsWell = Shown(kOfClaim, HealthState::kHealthy);

TEST(ShownOthers, AreNoneWhereAPodShowsOnlyWhatItHolds) {
  EXPECT_THAT(ShownOthersOf(PodThatShows({kClaimsWell}), kHeldByClaim).findings, IsEmpty());
  EXPECT_THAT(ShownOthersOf({}, kHeldByClaim).findings, IsEmpty());
  kube::Pod pod;
  pod.devices_annotation = "gpu.example.com/node-1/gpu-0 Unknown";
  EXPECT_THAT(ShownOthersOf(pod, kHeldByClaim).findings, IsEmpty());
}

TEST(ShownOthers, StayWordForWordWhateverTheyAreLike) {
  DeviceHealth slow = Shown(kOfPlugin, HealthState::kDegraded, "Pcie", "link x8, expected x16");
  slow.share = 0.5;
  DeviceHealth timeless = Shown(kOfPlugin, HealthState::kUnhealthy, "X", "a: b");
  timeless.since = {};
  const DeviceHealth long_one =
      Shown(kOfPlugin, HealthState::kUnhealthy, "X", std::string(600, 'x'));
  const DeviceHealth lost = Shown(kOfPlugin, HealthState::kUnhealthy, "XidGpuLost", "XID 79: lost");
  for (const DeviceHealth& other :
       {slow, timeless, long_one, lost, Shown(kOfPlugin, HealthState::kUnhealthy, "OnlyACode"),
        Shown(kOfPlugin, HealthState::kUnknown, "DriverSilent", "no report for 30 s"),
        Shown(kOfPlugin, HealthState::kHealthy)}) {
    for (const HealthState state : kHealthStates) {
      DeviceHealth of_claim = Shown(kOfClaim, state, "Y", "it broke");
      const kube::Pod pod = PodThatShows({of_claim, other});
      const WantedPodStatus wanted = WantedOn(pod, of_claim);
      EXPECT_EQ(wanted.annotation, pod.devices_annotation);
      const kube::PodCondition& shown = pod.conditions[0];
      EXPECT_EQ(wanted.condition, (WantedCondition{shown.status, shown.reason, shown.message}));
    }
  }
}

TEST(ShownOthers, AFaultOfAKnownDeviceIsShownBesideThem) {
  const DeviceHealth broken = Shown(kOfClaim, HealthState::kUnhealthy, "Y", "it broke");
  const kube::Pod pod = PodThatShows({kClaimsWell, Shown(kOfPlugin, HealthState::kHealthy)});
  const WantedPodStatus wanted = WantedOn(pod, broken);
  EXPECT_EQ(wanted.annotation,
            "gpu-0 Unhealthy since 2026-11-21T14:00:00Z: it broke; GPU-5f3c Healthy");
  EXPECT_EQ(wanted.condition.status, "False");
  EXPECT_EQ(wanted.condition.reason, "Y");
}

TEST(ShownOthers, AFaultOfTheirsStaysWhenAKnownDeviceIsRepaired) {
  const kube::Pod pod = PodThatShows({Shown(kOfClaim, HealthState::kUnhealthy, "Y", "it broke"),
                                      Shown(kOfPlugin, HealthState::kUnhealthy, "X", "lost")});
  ASSERT_EQ(pod.conditions[0].reason, "Y");
  const WantedPodStatus wanted = WantedOn(pod, kClaimsWell);
  EXPECT_EQ(wanted.annotation,
            "GPU-5f3c Unhealthy since 2026-11-21T14:00:00Z: lost; gpu-0 Healthy");
  EXPECT_EQ(wanted.condition.status, "False");
  EXPECT_EQ(wanted.condition.reason, "Reported") << "the Pod shows its code nowhere";
}

TEST(ShownOthers, ADriversSentenceMakesNoDevice) {
  const DeviceHealth sly =
      Shown(kOfClaim, HealthState::kUnhealthy, "Y", "hot; x Healthy; and 3 more");
  const kube::Pod pod = PodThatShows({sly});
  EXPECT_EQ(pod.devices_annotation,
            "gpu-0 Unhealthy since 2026-11-21T14:00:00Z: hot, x Healthy, and 3 more");
  const ShownOthers others = ShownOthersOf(pod, kHeldByClaim);
  EXPECT_THAT(others.findings, IsEmpty());
  EXPECT_EQ(others.counted, 0u);
}

TEST(ShownOthers, ASemicolonThatAnAgentBeforeThisOneLeftIsPartOfItsSentence) {
  kube::Pod pod;
  pod.devices_annotation = "GPU-1 Unhealthy: hot; call us; gpu-0 Unhealthy: cold; call them";
  const ShownOthers others = ShownOthersOf(pod, kHeldByClaim);
  ASSERT_THAT(others.findings, SizeIs(1));
  EXPECT_EQ(others.findings[0].cause.message, "hot, call us");
}

TEST(ShownOthers, ThoseThatAreOnlyCountedStayCountedAndTheConditionGetsNoBetter) {
  kube::Pod pod = PodThatShows({kClaimsWell});
  pod.devices_annotation = "gpu-0 Unhealthy: a; GPU-1 Healthy; and 3 more";
  pod.conditions = {{.type = std::string(kube::kDevicesCondition),
                     .status = "False",
                     .reason = "Y",
                     .message = "gpu-0 Unhealthy: a",
                     .changed = std::nullopt}};
  EXPECT_EQ(ShownOthersOf(pod, kHeldByClaim).counted, 3u);
  const WantedPodStatus wanted = WantedOn(pod, kClaimsWell);
  EXPECT_EQ(wanted.annotation, "gpu-0 Healthy; GPU-1 Healthy; and 3 more");
  EXPECT_EQ(wanted.condition.status, "False");
  std::vector<HeldDevice> held = kHeldByClaim;
  held.push_back({.device = {"gpu.example.com", "node-1", "gpu-1"}});
  EXPECT_EQ(ShownOthersOf(pod, held).counted, 2u) << "one of the three is held";
}

TEST(ShownOthers, ATextThatIsNoFindingIsNone) {
  kube::Pod pod;
  for (const char* text : {"", " ", "x", "x Broken", "x Unhealthy until 2026-11-21T14:00:00Z: a",
                           "x Unhealthy since yesterday", "x Degraded much: a", "and 3 more",
                           "x Healthy again and again"}) {
    pod.devices_annotation = text;
    EXPECT_THAT(ShownOthersOf(pod, kHeldByClaim).findings, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace galen::agent
