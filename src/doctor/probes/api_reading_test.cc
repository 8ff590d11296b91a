#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"
#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

Json Read(const char* text) {
  StatusOr<Json> json = Json::Parse(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? std::move(*json) : Json();
}

TEST(ApiReading, TheClockIsComparedInTheMiddleOfTheQuestion) {
  const WallTime asked = *ParseRfc3339("2026-11-21T22:17:02.400Z");
  const StatusOr<ClockSeen> clock =
      ReadClock("Sat, 21 Nov 2026 22:17:02 GMT", asked, asked + 200ms);
  ASSERT_TRUE(clock.ok()) << clock.status().message();
  EXPECT_EQ(clock->ahead, Duration::zero());
  EXPECT_EQ(clock->uncertainty, 600ms);
  EXPECT_EQ(ReadClock("Sat, 21 Nov 2026 22:16:52 GMT", asked, asked + 200ms)->ahead, 10s);
}

TEST(ApiReading, WhatIsNoDateIsAnError) {
  for (const char* bad : {"", "yesterday", "Sat, 21 Foo 2026 22:17:02 GMT",
                          "Sat, 21 Nov 2026 22:17:99 GMT", "2026-11-21T22:17:02Z"}) {
    EXPECT_FALSE(ReadClock(bad, {}, {}).ok()) << bad;
  }
}

TEST(ApiReading, VersionsAreReadFromWhatServersSay) {
  EXPECT_EQ(ReadVersion(Read(R"({"gitVersion": "v1.37.1"})"))->minor, 37);
  EXPECT_EQ(ReadVersion(Read(R"({"gitVersion": "v1.34.4+k3s1"})"))->minor, 34);
  EXPECT_FALSE(ReadVersion(Read(R"({"gitVersion": "galen"})")).ok());
  EXPECT_FALSE(ReadVersion(Json()).ok());
}

TEST(ApiReading, NodeLeaseAndObjectSayWhetherTheyAreReady) {
  const NodeSeen node = ReadNode(Read(R"({"status": {"nodeInfo": {"kubeletVersion": "v1.37.1"},
    "conditions": [{"type": "MemoryPressure", "status": "False"},
      {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no"}]}})"));
  EXPECT_EQ(node.kubelet_version, "v1.37.1");
  ASSERT_TRUE(node.ready.has_value());
  EXPECT_EQ(node.ready->reason, "KubeletNotReady");
  EXPECT_FALSE(ReadNode(Json()).ready.has_value());
  EXPECT_THAT(ReadNode(Read(R"({"metadata": {"labels": {"zone": "a",
    "feature.node.kubernetes.io/cpu-cpuid.AVX2": "true"}}})"))
                  .labels,
              ElementsAre(std::pair("feature.node.kubernetes.io/cpu-cpuid.AVX2", "true")));
  const LeaseSeen lease = ReadLease(Read(
      R"({"spec": {"leaseDurationSeconds": 20, "renewTime": "2026-11-21T22:17:42.751906Z"}})"));
  EXPECT_EQ(lease.holds, 20s);
  EXPECT_EQ(*lease.renewed, *ParseRfc3339("2026-11-21T22:17:42.751906Z"));
  EXPECT_FALSE(ReadLease(Json()).renewed.has_value());
}

TEST(ApiReading, APodOfTheAgentIsKnownByItsContainerCommandOrLabel) {
  const auto runs = [](const std::string& spec, const std::string& labels = "{}") {
    const std::string text = R"({"metadata": {"namespace": "a", "name": "p", "uid": "u",
      "labels": )" + labels + R"(}, "spec": )" +
                             spec + "}";
    return ReadPod(Read(text.c_str()))->runs_agent;
  };
  EXPECT_TRUE(runs(R"({"containers": [{"name": "galen-agent"}]})"));
  EXPECT_TRUE(runs(R"({"containers": [{"name": "a", "command": ["/usr/bin/galen-agent"]}]})"));
  EXPECT_TRUE(runs("{}", R"({"app.kubernetes.io/name": "galen-agent"})"));
  EXPECT_FALSE(runs(R"({"containers": [{"name": "train", "args": ["--galen"]}]})"));
}

TEST(ApiReading, AClaimIsHereWhenItsAllocationNamesThisNodeAlone) {
  const char* text = R"({"metadata": {"namespace": "a", "name": "c", "uid": "u"}, "status": {
    "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p",
      "device": "x"}]}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["node-7"]}]}]}},
    "reservedFor": [{"resource": "pods", "name": "t", "uid": "pod-9"}]}})";
  EXPECT_TRUE(ReadClaim(Read(text), "node-7")->here);
  EXPECT_FALSE(ReadClaim(Read(text), "node-8")->here);
}

TEST(ApiReading, AClaimOfThisNodesPoolsIsHereToo) {
  ClaimSeen claim = GoodClaim();
  claim.here = false;
  ClaimSeen far = claim;
  far.claim.devices[0].device.pool = "node-8";
  ClaimSeen unallocated = claim;
  unallocated.claim.devices.clear();
  std::vector<ClaimSeen> claims = {claim, far, unallocated};
  MarkClaimsHere(claims, {GoodSlice("s", "gpu-0")});
  EXPECT_TRUE(claims[0].here);
  EXPECT_FALSE(claims[1].here);
  EXPECT_FALSE(claims[2].here);
}

TEST(ApiReading, PodsThatAreNotOfThisNodeAreFarAndAskedForOnce) {
  ClaimSeen claim = GoodClaim();
  claim.claim.reserved_for.push_back({{"train", "t"}, "pod-9"});
  EXPECT_THAT(FarPods({claim, claim}, {GoodPod()}), ElementsAre(PodRef{{"train", "t"}, "pod-9"}));
  claim.here = false;
  EXPECT_THAT(FarPods({claim}, {GoodPod()}), SizeIs(0));
}

TEST(ApiReading, TheRestIsReadAsItStands) {
  EXPECT_THAT(ReadGroupVersions(Read(R"({"versions": [{"version": "v1"}]})")), ElementsAre("v1"));
  const SlicePlace place = ReadSlicePlace(Read(R"({"metadata": {"name": "s"}, "spec": {
    "driver": "d", "nodeName": "n", "pool": {"name": "p", "generation": 4}}})"));
  EXPECT_EQ(place.node, "n");
  EXPECT_EQ(place.generation, 4);
  EXPECT_TRUE(ReadAllowed(Read(R"({"status": {"allowed": true}})")));
  EXPECT_FALSE(ReadAllowed(Json()));
  EXPECT_FALSE(ReadNodeHealth(Json()).ready.has_value());
}

}  // namespace
}  // namespace galen::doctor
