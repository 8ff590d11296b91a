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
  EXPECT_EQ(Draw(TrainerOnAFallenGpu(), At("2026-11-21T14:02:49Z"), {}),
            "trainer-0 runs on node-7 and holds one device.\n"
            "  gpu-3   Unhealthy since 14:02:11 (38s ago): XID 79: GPU has fallen off the bus\n"
            "          H200, serial 1653922005112, pool node-7, driver gpu.example.com, claim "
            "trainer-0-gpu\n"
            "  14:02:11.304  sign    kernel log: Xid 79  gpu.example.com\n"
            "  14:02:11.311  told    Pod status          galen-agent\n");
}

TEST(Explanation, KeepsItsColumnsUnderALongKindOfStep) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps.push_back(
      {At("2026-11-21T14:02:12Z"), "driver-lost", "its socket is gone", "galen-agent"});
  const std::string text = Draw(explanation, At("2026-11-21T14:02:49Z"), {});
  EXPECT_NE(text.find("  told         Pod status          galen-agent\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  driver-lost  its socket is gone  galen-agent\n"), std::string::npos)
      << text;
}

TEST(Explanation, FitsOnANarrowTerminal) {
  const std::string text =
      Draw(TrainerOnAFallenGpu(), At("2026-11-21T14:02:49Z"), {.colour = false, .columns = 50});
  EXPECT_EQ(text,
            "trainer-0 runs on node-7 and holds one device.\n"
            "  gpu-3   Unhealthy since 14:02:11 (38s ago): XID\n"
            "          79: GPU has fallen off the bus\n"
            "          H200, serial 1653922005112, pool node-7,\n"
            "          driver gpu.example.com, claim\n"
            "          trainer-0-gpu\n"
            "  14:02:11.304  sign    kernel log: Xid 79\n"
            "                        gpu.example.com\n"
            "  14:02:11.311  told    Pod status  galen-agent\n");
}

TEST(Explanation, OfAPodWithoutDevicesSaysSo) {
  const Explanation explanation{
      .pod = {"a", "web"}, .node = "node-1", .devices = {}, .steps = {}, .note = ""};
  EXPECT_EQ(Draw(explanation, {}, {}), "web runs on node-1 and holds no devices.\n");
}

TEST(Explanation, NeverPassesOnATerminalsEscapes) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.devices[0].health.cause.message = "bad\x1b[2Jnews";
  explanation.steps[0].text = "clear\x1b[2J";
  EXPECT_EQ(Draw(explanation, {}, {}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
