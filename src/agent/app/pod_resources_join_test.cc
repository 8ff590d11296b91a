#include "agent/app/pod_resources_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using ::testing::HasSubstr;

const DeviceId kComparedGpu{"gpu.example.com", "node-1", "gpu-0"};

PodResources Said(const std::string& claim, const std::string& share = "") {
  return {.pod = {"default", "a"}, .claim_devices = {{{"default", claim}, kComparedGpu, share}}};
}

TEST(ClaimDifference, ThereIsNoneWhereBothNameTheDevice) {
  EXPECT_EQ(ClaimDifference(Said("a-gpu"), {{.device = kComparedGpu, .claim = "a-gpu"}}), "");
}

TEST(ClaimDifference, WhatTheKubeletDoesNotNameIsNone) {
  EXPECT_EQ(
      ClaimDifference({.pod = {"default", "a"}}, {{.device = kComparedGpu, .claim = "a-gpu"}}), "");
}

TEST(ClaimDifference, ADeviceThatOnlyTheKubeletKnowsOfIsOne) {
  EXPECT_THAT(ClaimDifference(Said("a-gpu"), {}),
              HasSubstr("the kubelet has gpu.example.com/node-1/gpu-0 for claim a-gpu"));
  EXPECT_NE(ClaimDifference(Said("b-gpu"), {{.device = kComparedGpu, .claim = "a-gpu"}}), "");
  // The same device by a plugin is no device of the claim.
  EXPECT_NE(ClaimDifference(Said("a-gpu"), {{.device = kComparedGpu, .resource = "x.com/gpu"}}),
            "");
}

TEST(ClaimDifference, AShareCountsWhereTheKubeletNamesIt) {
  const std::vector<HeldDevice> held = {
      {.device = kComparedGpu, .share_id = "s1", .claim = "a-gpu"}};
  EXPECT_EQ(ClaimDifference(Said("a-gpu"), held), "");
  EXPECT_EQ(ClaimDifference(Said("a-gpu", "s1"), held), "");
  EXPECT_NE(ClaimDifference(Said("a-gpu", "s2"), held), "");
}

}  // namespace
}  // namespace galen::agent
