#include "cli/explanation.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

WallTime At(std::string_view text) { return *ParseRfc3339(text); }

Explanation TrainerOnAFallenGpu() {
  ExplainedDevice gpu;
  gpu.identity = {
      .id = {"gpu.example.com", "node-7", "gpu-3"}, .serial = "1653922005112", .model = "H200"};
  gpu.health.id = gpu.identity.id;
  gpu.health.state = HealthState::kUnhealthy;
  gpu.health.cause.message = "XID 79: GPU has fallen off the bus";
  gpu.health.since = At("2026-11-21T14:02:11Z");
  gpu.claim = "trainer-0-gpu";
  return {
      .pod = {"train", "trainer-0"},
      .node = "node-7",
      .devices = {gpu},
      .steps = {{At("2026-11-21T14:02:11.304Z"), "sign", "kernel log: Xid 79", "gpu.example.com"},
                {At("2026-11-21T14:02:11.311Z"), "told", "Pod status", "galen-agent"}},
      .note = ""};
}

TEST(Explanation, SaysDeviceStateAndSinceWhen) {
  EXPECT_EQ(Draw(TrainerOnAFallenGpu(), At("2026-11-21T14:02:49Z"), false),
            "trainer-0 runs on node-7 and holds one device.\n"
            "  gpu-3   Unhealthy since 14:02:11 (38s ago): XID 79: GPU has fallen off the bus\n"
            "          H200, serial 1653922005112, pool node-7, driver gpu.example.com, claim "
            "trainer-0-gpu\n"
            "  14:02:11.304  sign     kernel log: Xid 79  gpu.example.com\n"
            "  14:02:11.311  told     Pod status          galen-agent\n");
}

TEST(Explanation, OfAPodWithoutDevicesSaysSo) {
  const Explanation explanation{
      .pod = {"a", "web"}, .node = "node-1", .devices = {}, .steps = {}, .note = ""};
  EXPECT_EQ(Draw(explanation, {}, false), "web runs on node-1 and holds no devices.\n");
}

TEST(Explanation, NeverPassesOnATerminalsEscapes) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.devices[0].health.cause.message = "bad\x1b[2Jnews";
  explanation.steps[0].text = "clear\x1b[2J";
  EXPECT_EQ(Draw(explanation, {}, false).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
