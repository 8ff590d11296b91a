#include "history/post_mortem/post_mortem.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "history/journal/segment.h"
#include "history/post_mortem/relevant_finding.h"

namespace galen::history {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kEndOfMortem(std::chrono::nanoseconds(1'795'269'734'020'000'000));

ReceivedFinding Finding(HealthState state, Duration after_end) {
  ReceivedFinding finding;
  finding.health.id = {"gpu.example.com", "node-7", "gpu-3"};
  finding.health.state = state;
  finding.health.since = kEndOfMortem + after_end;
  finding.health.cause = {"XidGpuLost", "XID 79", "79", "", "", FaultOwner::kHardware};
  finding.received = kEndOfMortem + after_end + 7ms;
  return finding;
}

PostMortemDevice Gpu(std::vector<ReceivedFinding> findings) {
  return {.identity = {{"gpu.example.com", "node-7", "gpu-3"}, "1653922005112", "H200"},
          .claim = "trainer-0-gpu",
          .containers = {"train"},
          .findings = std::move(findings)};
}

PostMortem FullMortem() {
  PostMortem record;
  record.pod = {{"train", "trainer-0"}, "uid-1"};
  record.number = 2;
  record.node = "node-7";
  record.end = PodEnd::kEvicted;
  record.reason = "DeletionByTaintManager";
  record.asked = kEndOfMortem - 30s;
  record.began = kEndOfMortem - 1h;
  record.first = kEndOfMortem - 2s;
  record.ended = kEndOfMortem;
  record.over = true;
  record.owner = "job-uid";
  record.exact = false;
  record.containers = {{.container = "train",
                        .exit_code = 134,
                        .signal = 6,
                        .reason = "Error",
                        .message = "CUDA error 700",
                        .started = kEndOfMortem - 60s,
                        .finished = kEndOfMortem,
                        .restarts = 3},
                       {.container = "fetch", .exit_code = 0, .init = true}};
  record.devices = {
      Gpu({Finding(HealthState::kHealthy, -1h), Finding(HealthState::kUnhealthy, -3s)})};
  record.devices[0].admin = true;
  record.verdict = {.kind = VerdictKind::kHardware,
                    .confidence = 0.98,
                    .supporting = {{"device-lost-before", VerdictKind::kHardware, 0.9, "lost"}},
                    .opposing = {}};
  record.published = true;
  return record;
}

TEST(PostMortem, ReadsBackAsItWasWritten) {
  EXPECT_EQ(*ToPostMortem(ToJson(FullMortem())), FullMortem());
  EXPECT_EQ(Bounded(FullMortem()), FullMortem());
  const Json written = ToJson(FullMortem());
  EXPECT_TRUE(written["devices"][0]["admin"].AsBool());
  EXPECT_TRUE(written["containers"][1]["init"].AsBool());
  PostMortem least;
  EXPECT_EQ(*ToPostMortem(ToJson(least)), least);
}

// As agents wrote them that knew of neither: what is not said is as before.
TEST(PostMortem, ARecordWithoutInitAndAdminReadsAsOneOfWorkAndMainContainers) {
  Json old = ToJson(FullMortem());
  old["containers"].MutableItems().at(1).Erase("init");
  old["devices"].MutableItems().at(0).Erase("admin");
  const auto record = ToPostMortem(old);
  ASSERT_TRUE(record.ok()) << ToString(record.status());
  EXPECT_FALSE(record->devices[0].admin);
  EXPECT_FALSE(record->containers[1].init);
  EXPECT_EQ(ToJson(*record), old);
}

// Two members had other names once, and what is on disk stays.
TEST(PostMortem, ARecordWithOldNamesReadsAsOneWithTheNewOnes) {
  Json old = ToJson(FullMortem());
  ASSERT_TRUE(old.Erase("published"));
  old["told"] = true;
  for (Json& finding : old["devices"].MutableItems().at(0)["findings"].MutableItems()) {
    const Json received = finding["received"];
    ASSERT_TRUE(finding.Erase("received"));
    finding["heard"] = received;
  }
  const auto record = ToPostMortem(old);
  ASSERT_TRUE(record.ok()) << ToString(record.status());
  EXPECT_EQ(*record, FullMortem());
}

TEST(PostMortem, EveryEndHasANameThatReadsBack) {
  for (const PodEnd end : {PodEnd::kCrashed, PodEnd::kFailed, PodEnd::kSucceeded, PodEnd::kEvicted,
                           PodEnd::kDeleted, PodEnd::kNodeReboot, PodEnd::kGone}) {
    EXPECT_EQ(ParsePodEnd(ToString(end)), end);
  }
  EXPECT_EQ(ToPostMortem(Json::MakeObject({{"end", "Exploded"}})).status().code(), Code::kDataLoss);
}

TEST(PostMortem, ItsWindowIsFiveMinutesBeforeAndAfter) {
  EXPECT_EQ(FullMortem().from(), kEndOfMortem - 2s - 5min);
  EXPECT_EQ(FullMortem().until(), kEndOfMortem + 5min);
}

TEST(PostMortem, UnknownIsNoFault) {
  PostMortem record = FullMortem();
  EXPECT_TRUE(HasFault(record));
  record.devices = {Gpu({Finding(HealthState::kHealthy, -1h), Finding(HealthState::kUnknown, 0s)})};
  EXPECT_FALSE(HasFault(record));
}

TEST(PostMortem, OfADeviceThatFlapsTheFirstFindingAndThoseNearTheEndStay) {
  PostMortem record = FullMortem();
  record.devices[0].findings.clear();
  for (int i = -100; i < 100; ++i) {
    record.devices[0].findings.push_back(Finding(HealthState::kUnhealthy, i * 1s));
  }
  record.devices[0].containers.assign(100, "rank");
  record = Bounded(record);
  EXPECT_EQ(record.devices[0].containers.size(), kMortemContainersMax);
  ASSERT_EQ(record.devices[0].findings.size(), kMortemFindingsMax);
  EXPECT_EQ(record.devices[0].findings.front(), Finding(HealthState::kUnhealthy, -100s));
  EXPECT_EQ(record.devices[0].findings.back(), Finding(HealthState::kUnhealthy, 5s));
  EXPECT_EQ(record.devices[0].findings[1], Finding(HealthState::kUnhealthy, -17s));
}

// The worst that drivers, programs and names can do still fits a frame of the journal.
TEST(PostMortem, OfTimesThatAreAsFarApartAsTheyCanTheFarOnesGo) {
  PostMortem record = FullMortem();
  record.first = record.ended = WallTime(std::chrono::sys_days(std::chrono::year(2261) / 12 / 31));
  std::vector<ReceivedFinding>& findings = record.devices[0].findings;
  findings.clear();
  for (int i = 0; i < 40; ++i) {
    findings.push_back(Finding(HealthState::kUnhealthy, 0s));
    if (i % 2 == 1) findings.back().health.since = record.ended - i * 1s;
    if (i % 10 == 2) findings.back().health.since = WallTime::min();
  }
  record = Bounded(record);
  EXPECT_EQ(record.devices[0].findings.size(), kMortemFindingsMax);
  const auto old = std::ranges::count_if(record.devices[0].findings, [](const ReceivedFinding& f) {
    return f.health.since < kEndOfMortem - 24h;
  });
  EXPECT_EQ(old, 0);
  EXPECT_EQ(Bounded(record), record);
}

TEST(PostMortem, AHugeOneIsCutToItsBoundAndKeepsTheDeviceWithTheFault) {
  PostMortem record = FullMortem();
  record.devices.clear();
  for (int i = 0; i < 200; ++i) {
    PostMortemDevice device = Gpu({});
    device.identity.id = {std::string(63, 'd'), std::string(253, 'p'), "gpu-" + std::to_string(i)};
    device.claim = std::string(253, 'c');
    device.containers = std::vector<std::string>(40, std::string(63, '"'));
    ReceivedFinding finding =
        Finding(i == 150 ? HealthState::kUnhealthy : HealthState::kHealthy, 0s);
    finding.health.cause.message = std::string(1024, '\\');
    device.findings.assign(40, finding);
    record.devices.push_back(device);
  }
  record.containers.assign(100, record.containers[0]);
  for (ContainerEnd& end : record.containers) end.message = std::string(9000, '"');
  const Evidence evidence{"r", VerdictKind::kHardware, 1, std::string(9000, '"')};
  record.verdict.supporting.assign(50, evidence);
  record.verdict.opposing.assign(50, evidence);
  const PostMortem bounded = Bounded(record);
  EXPECT_LE(ToJson(bounded).Dump().size(), kPostMortemBytesMax);
  EXPECT_LT(kPostMortemBytesMax, kRecordBytesMax);
  ASSERT_FALSE(bounded.devices.empty());
  EXPECT_EQ(bounded.devices[0].identity.id.device, "gpu-150");
  EXPECT_EQ(bounded.devices.size() + static_cast<std::size_t>(bounded.devices_left_out), 200u);
  EXPECT_EQ(Bounded(bounded), bounded) << "what is bounded stays as it is";
}

TEST(CleanMessage, HasLinesWithoutControlCharactersAndKeepsItsEnd) {
  EXPECT_EQ(CleanMessage("Traceback:\n\tline \t7\r\n\n\nend\n"), "Traceback:\nline 7\nend");
  EXPECT_EQ(CleanMessage("Traceback:\nline 7"), "Traceback:\nline 7") << "what is clean stays";
  EXPECT_EQ(CleanMessage("\x1b[31mred\x07\x7f"), "[31mred");
  EXPECT_EQ(CleanMessage(std::string(1, '\0') + " a  b "), "a b");
  EXPECT_EQ(CleanMessage(""), "");
  const std::string cut = CleanMessage(std::string(9000, 'x') + "the reason");
  EXPECT_EQ(cut.size(), kMortemMessageBytesMax);
  EXPECT_TRUE(cut.starts_with("...x"));
  EXPECT_TRUE(cut.ends_with("the reason"));
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "ü";
  const std::string cut_wide = CleanMessage(wide);
  EXPECT_LE(cut_wide.size(), kMortemMessageBytesMax);
  EXPECT_TRUE(cut_wide.starts_with("...ü")) << "not inside a letter";
}

}  // namespace
}  // namespace galen::history
