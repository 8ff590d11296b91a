#include "cli/output/explanation.h"

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
                {At("2026-11-21T14:02:11.311Z"), "published", "Pod status", "galen-agent"}},
      .note = ""};
}

TEST(Explanation, SaysDeviceStateAndSinceWhen) {
  EXPECT_EQ(Draw(TrainerOnAFallenGpu(), At("2026-11-21T14:02:49Z"), {}),
            "trainer-0 runs on node-7 and holds one device.\n"
            "  gpu-3   Unhealthy since 14:02:11 (38s ago): XID 79: GPU has fallen off the bus\n"
            "          H200, serial 1653922005112, pool node-7, driver gpu.example.com, claim "
            "trainer-0-gpu\n"
            "  14:02:11.304  sign       kernel log: Xid 79  gpu.example.com\n"
            "  14:02:11.311  published  Pod status          galen-agent\n");
}

TEST(Explanation, OfADevicePluginsDeviceNamesItsResourceAndNoClaim) {
  Explanation explanation = TrainerOnAFallenGpu();
  ExplainedDevice& gpu = explanation.devices[0];
  gpu.identity = {.id = {"nvidia.com/gpu", "node-7", "GPU-5f3c"}, .model = "H200"};
  gpu.claim = "";
  EXPECT_NE(
      Draw(explanation, At("2026-11-21T14:02:49Z"), {}).find("H200, resource nvidia.com/gpu\n"),
      std::string::npos);
}

TEST(Explanation, OfAPodThatEndedOrIsToGoSaysSo) {
  Explanation explanation = TrainerOnAFallenGpu();
  const WallTime now = At("2026-11-21T14:02:49Z");
  const auto first_line = [&] {
    const std::string text = Draw(explanation, now, {});
    return text.substr(0, text.find('\n'));
  };
  explanation.phase = "Running";
  explanation.asked_to_go = now - 40s;
  EXPECT_EQ(first_line(),
            "trainer-0 runs on node-7 and holds one device; it was asked to go 40s ago.");
  explanation.asked_to_go.reset();
  explanation.phase = "Failed";
  EXPECT_EQ(first_line(), "trainer-0 ran on node-7 and held one device; it has failed.");
}

TEST(Explanation, KeepsItsColumnsUnderALongKindOfStep) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps.push_back(
      {At("2026-11-21T14:02:12Z"), "driver-lost", "its socket is gone", "galen-agent"});
  const std::string text = Draw(explanation, At("2026-11-21T14:02:49Z"), {});
  EXPECT_NE(text.find("  published    Pod status          galen-agent\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  driver-lost  its socket is gone  galen-agent\n"), std::string::npos)
      << text;
}

TEST(Explanation, NothingFromOutsideCommandsTheTerminal) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.pod.name = "a\x1b[2J";
  explanation.node = "b\x1b[2J";
  explanation.note = "The agent was not asked: \x1b]0;owned\x07.\nA node's object is odd: \x1b[2J";
  for (const std::size_t columns : {std::size_t{0}, std::size_t{80}}) {
    const std::string text = Draw(explanation, At("2026-11-21T14:02:49Z"), {.columns = columns});
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_NE(text.find("a\uFFFD[2J runs on b\uFFFD[2J and holds"), std::string::npos) << text;
    EXPECT_NE(text.find("owned\uFFFD.\nA node's object"), std::string::npos) << text;
  }
}

// A Pod with two GPUs: each step says of which it is, but for what is of their driver.
Explanation PairOfGpus() {
  Explanation pair = TrainerOnAFallenGpu();
  pair.devices.push_back(pair.devices[0]);
  pair.devices[1].identity.id.device = "gpu-4";
  pair.devices[1].health = {.state = HealthState::kHealthy};
  pair.steps[0].device = "gpu.example.com/node-7/gpu-3";
  pair.steps[1].device = "gpu.example.com/node-7/gpu-4";
  pair.steps.push_back({At("2026-11-21T14:02:12Z"), "driver-lost", "it is gone", "galen-agent"});
  return pair;
}

TEST(Explanation, SaysOfWhichOfSeveralDevicesAStepIs) {
  const std::string text = Draw(PairOfGpus(), At("2026-11-21T14:02:49Z"), {});
  EXPECT_NE(text.find("  14:02:11.304  sign         gpu-3  kernel log: Xid 79  gpu.example.com\n"
                      "  14:02:11.311  published    gpu-4  Pod status          galen-agent\n"
                      "  14:02:12.000  driver-lost         it is gone          galen-agent\n"),
            std::string::npos)
      << text;
}

TEST(Explanation, DistinguishesDevicesOfOneName) {
  Explanation pair = PairOfGpus();
  pair.devices[1].identity.id = {"gpu.example.com", "node-8", "gpu-3"};
  pair.steps[1].device = "gpu.example.com/node-8/gpu-3";
  const std::string text = Draw(pair, At("2026-11-21T14:02:49Z"), {});
  EXPECT_NE(text.find("published    gpu.example.com/node-8/gpu-3  Pod"), std::string::npos) << text;
}

TEST(Explanation, GivesTheSentenceOfAChangeThatIsOver) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps = {
      {At("2026-11-21T14:00:00Z"), "change", "Healthy → Unhealthy, TemperatureHigh", "gpu", "",
       "GPU temperature 91 °C exceeds 85 °C"},
      {At("2026-11-21T14:02:11Z"), "change", "Healthy → Unhealthy, XidGpuLost", "gpu", "",
       "XID 79: GPU has fallen off the bus"}};
  const std::string text = Draw(explanation, At("2026-11-21T14:02:49Z"), {});
  EXPECT_NE(text.find("  14:00:00.000  change     Healthy → Unhealthy, TemperatureHigh  gpu\n"
                      "                           GPU temperature 91 °C exceeds 85 °C\n"
                      "  14:02:11.000  change     Healthy → Unhealthy, XidGpuLost       gpu\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("gpu\n")) << "the present one stands above: " << text;
}

TEST(Explanation, SaysOnceWhyADriverWasLost) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps = {
      {At("2026-11-21T14:00:00Z"), "driver-lost", "driver gpu is gone: hung up", "galen-agent"},
      {At("2026-11-21T14:00:00Z"), "change", "Healthy → Unknown, DriverGone", "galen-agent", "",
       "driver gpu is gone: hung up"}};
  const std::string text = Draw(explanation, At("2026-11-21T14:02:49Z"), {});
  EXPECT_EQ(text.find("hung up"), text.rfind("hung up")) << text;
}

TEST(Explanation, SaysTheDayWhereItIsAnother) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps[1].time = At("2026-11-22T00:00:01Z");
  explanation.steps[1].to_the_second = true;
  const std::string text = Draw(explanation, At("2026-11-22T14:02:49Z"), {});
  EXPECT_NE(text.find("since 2026-11-21 14:02:11 (24h ago)"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  2026-11-21\n"
                      "  14:02:11.304  sign       kernel log: Xid 79  gpu.example.com\n"
                      "  2026-11-22\n"
                      "  00:00:01      published  Pod status          galen-agent\n"),
            std::string::npos)
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
            "  14:02:11.304  sign       kernel log: Xid 79\n"
            "                           gpu.example.com\n"
            "  14:02:11.311  published  Pod status  galen-agent\n");
}

TEST(Explanation, EndsInTheVerdict) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.verdict = Verdict{.kind = VerdictKind::kHardware,
                                .confidence = 0.98,
                                .supporting = {{.rule = "device-lost",
                                                .supports = VerdictKind::kHardware,
                                                .weight = 0.95,
                                                .sentence = "device lost 2.7 s\x1b before"}},
                                .opposing = {}};
  const std::string text = Draw(explanation, At("2026-11-21T14:02:49Z"), {});
  EXPECT_TRUE(text.ends_with("\n  verdict       hardware (0.98): device lost 2.7 s\uFFFD before\n"))
      << text;
  explanation.note = "The agent was not asked.";
  EXPECT_TRUE(Draw(explanation, {}, {}).ends_with("before\nThe agent was not asked.\n"));
  const std::string narrow =
      Draw(explanation, At("2026-11-21T14:02:49Z"), {.colour = false, .columns = 40});
  EXPECT_NE(narrow.find("\n  verdict       hardware (0.98): device\n                lost 2.7 s"),
            std::string::npos)
      << narrow;
}

// A Pod whose driver was away, at the width of many terminals.
TEST(Explanation, KeepsItsColumnsWhereTheTextHasToBeWrapped) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps = {
      {At("2026-11-21T14:02:11Z"), "driver-connected",
       "driver gpu.example.com is connected, and reports all of its devices again", "galen-agent"},
      {At("2026-11-21T14:02:12Z"), "published", "Pod status", "gpu.example.com, report 812"}};
  const std::string text =
      Draw(explanation, At("2026-11-21T14:02:49Z"), {.colour = false, .columns = 100});
  const std::string margin(34, ' ');
  EXPECT_TRUE(text.ends_with(
      "  14:02:11.000  driver-connected  driver gpu.example.com is "
      "connected, and reports   galen-agent\n" +
      margin + "all of its devices again\n" + "  14:02:12.000  published         Pod status" +
      std::string(41, ' ') + "gpu.example.com\n"))
      << text;
}

TEST(Explanation, LeavesOutTheNumbersOfReportsBeforeItWraps) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.steps[0].source = "gpu.example.com, report 812";
  const std::string text =
      Draw(explanation, At("2026-11-21T14:02:49Z"), {.colour = false, .columns = 62});
  EXPECT_TRUE(
      text.ends_with("  14:02:11.304  sign       kernel log: Xid 79  gpu.example.com\n"
                     "  14:02:11.311  published  Pod status          galen-agent\n"))
      << text;
}

TEST(Explanation, OfAPodWithoutDevicesSaysSo) {
  const Explanation explanation{
      .pod = {"a", "web"}, .node = "node-1", .devices = {}, .steps = {}, .note = ""};
  EXPECT_EQ(Draw(explanation, {}, {}), "web runs on node-1 and holds no devices.\n");
}

TEST(Explanation, OfAPodWhoseDevicesNobodyHasSaidYetClaimsNothing) {
  Explanation explanation{
      .pod = {"a", "web"}, .node = "node-1", .devices = {}, .steps = {}, .note = ""};
  explanation.devices_awaited = true;
  EXPECT_EQ(Draw(explanation, {}, {}),
            "web runs on node-1 and holds devices of a device plugin that are not known yet.\n");
  explanation = TrainerOnAFallenGpu();
  explanation.devices_awaited = true;
  EXPECT_TRUE(Draw(explanation, {}, {})
                  .starts_with("trainer-0 runs on node-7 and holds one device, and devices of a "
                               "device plugin that are not known yet.\n"));
}

TEST(Explanation, OfAPodThatIsGoneSaysSo) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.gone = true;
  EXPECT_TRUE(
      Draw(explanation, {}, {}).starts_with("trainer-0 ran on node-7 and held one device.\n"));
}

TEST(Explanation, NeverPassesOnATerminalsEscapes) {
  Explanation explanation = TrainerOnAFallenGpu();
  explanation.devices[0].health.cause.message = "bad\x1b[2Jnews";
  explanation.steps[0].text = "clear\x1b[2J";
  EXPECT_EQ(Draw(explanation, {}, {}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
