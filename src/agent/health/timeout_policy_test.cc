#include "agent/health/timeout_policy.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

const DeviceId kGpu0{"gpu.example.com", "node-1", "gpu-0"};

TEST(TimeoutPolicy, IsKubernetesDefaultWhenNobodySaysOtherwise) {
  EXPECT_EQ(TimeoutOf({}, kGpu0, std::nullopt),
            (EffectiveTimeout{30s, TimeoutSource::kDefault, ""}));
}

TEST(TimeoutPolicy, FollowsTheDriverWithinBounds) {
  EXPECT_EQ(TimeoutOf({}, kGpu0, 5s), (EffectiveTimeout{5s, TimeoutSource::kDriver, ""}));
  EXPECT_EQ(TimeoutOf({}, kGpu0, 1000h).timeout, kTimeoutMax);
  EXPECT_EQ(TimeoutOf({}, kGpu0, 1ns).timeout, kTimeoutLeast);
}

TEST(TimeoutPolicy, PutsTheOperatorAboveTheDriver) {
  const std::vector<TimeoutRule> rules = {{.driver = "gpu.example.com", .timeout = 7s}};
  EXPECT_EQ(TimeoutOf(rules, kGpu0, 5s),
            (EffectiveTimeout{7s, TimeoutSource::kConfig, "driver gpu.example.com"}));
  EXPECT_EQ(TimeoutOf(rules, {"nic.example.com", "node-1", "nic-0"}, 5s).timeout, 5s);
}

TEST(TimeoutPolicy, LetsTheRuleThatNamesMostDecide) {
  const std::vector<TimeoutRule> rules = {
      {.driver = "gpu.example.com", .pool = "node-1", .device = "gpu-0", .timeout = 1s},
      {.driver = "gpu.example.com", .timeout = 2s},
      {.timeout = 3s},
  };
  EXPECT_EQ(TimeoutOf(rules, kGpu0, std::nullopt).timeout, 1s);
  EXPECT_EQ(TimeoutOf(rules, {"gpu.example.com", "node-1", "gpu-1"}, std::nullopt).timeout, 2s);
  EXPECT_EQ(TimeoutOf(rules, {"nic.example.com", "node-1", "nic-0"}, std::nullopt).timeout, 3s);
}

TEST(TimeoutPolicy, SaysWhichRuleOfTheOperatorDecided) {
  const auto rule_for = [](const TimeoutRule& rule) {
    const EffectiveTimeout effective = TimeoutOf({rule}, kGpu0, 5s);
    EXPECT_EQ(effective.source, TimeoutSource::kConfig);
    return effective.rule;
  };
  EXPECT_EQ(rule_for({.timeout = 1s}), "");
  EXPECT_EQ(rule_for({.driver = "gpu.example.com", .timeout = 1s}), "driver gpu.example.com");
  EXPECT_EQ(rule_for({.driver = "gpu.example.com", .pool = "node-1", .timeout = 1s}),
            "pool node-1");
  EXPECT_EQ(
      rule_for({.driver = "gpu.example.com", .pool = "node-1", .device = "gpu-0", .timeout = 1s}),
      "device gpu-0");
}

TEST(TimeoutPolicy, LetsTheLaterOfEqualRulesDecide) {
  const std::vector<TimeoutRule> rules = {{.pool = "node-1", .timeout = 1s},
                                          {.device = "gpu-0", .timeout = 2s}};
  EXPECT_EQ(TimeoutOf(rules, kGpu0, std::nullopt).timeout, 2s);
}

}  // namespace
}  // namespace galen::agent
