#include "history/post_mortem/post_mortem_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::history {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr WallTime kEnd(std::chrono::seconds(1'795'269'734));

TEST(PostMortemText, OfAContainersEndSaysCodeReasonAndSignal) {
  EXPECT_EQ(TextOf(ContainerEnd{.container = "train", .exit_code = 134, .reason = "Error"}),
            "container train, exit 134 (SIGABRT)");
  EXPECT_EQ(TextOf(ContainerEnd{.container = "train", .exit_code = 137, .reason = "OOMKilled"}),
            "container train, exit 137 (OOMKilled, SIGKILL)");
  EXPECT_EQ(TextOf(ContainerEnd{.container = "a", .exit_code = 0, .reason = "Completed"}),
            "container a, exit 0");
  EXPECT_EQ(TextOf(ContainerEnd{.container = "a", .exit_code = 255, .signal = 42}),
            "container a, exit 255 (signal 42)");
}

TEST(PostMortemText, OfAnEndSaysWhoDecidedItAndHowSureItsTimeIs) {
  PostMortem record;
  record.end = PodEnd::kEvicted;
  record.reason = "DeletionByTaintManager";
  EXPECT_EQ(EndText(record), "Evicted (DeletionByTaintManager)");
  record.reason = "Evicted";
  EXPECT_EQ(EndText(record), "Evicted");
  record = {};
  record.exact = false;
  record.first = kEnd;
  record.ended = kEnd + std::chrono::minutes(7);
  EXPECT_EQ(EndText(record), "Gone between " + FormatRfc3339(kEnd).substr(11, 8) + " and " +
                                 FormatRfc3339(record.ended).substr(11, 8));
  record.ended = kEnd + std::chrono::days(10);
  EXPECT_EQ(EndText(record), "Gone between 2026-11-21T14:02:14Z and 2026-12-01T14:02:14Z");
}

TEST(PostMortemText, TheSentenceNamesEndContainerDeviceAndVerdict) {
  PostMortem record;
  record.end = PodEnd::kFailed;
  record.containers = {{.container = "init", .exit_code = 0},
                       {.container = "train", .exit_code = 139}};
  PostMortemDevice device;
  device.identity.id = {"gpu.example.com", "node-7", "gpu-3"};
  device.findings.resize(2);
  for (ReceivedFinding& finding : device.findings) finding.health.id = device.identity.id;
  device.findings[1].health.state = HealthState::kUnhealthy;
  device.findings[1].health.cause.message = "XID 79: GPU has fallen off the bus";
  record.devices = {PostMortemDevice(), device};
  const std::string text = SentenceOf(record);
  EXPECT_THAT(text, StartsWith("Failed, container train, exit 139 (SIGSEGV); gpu-3 Unhealthy"));
  EXPECT_THAT(text, HasSubstr("XID 79: GPU has fallen off the bus; verdict undetermined"));
}

}  // namespace
}  // namespace galen::history
