#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/post_mortem/post_mortem_keeper.h"

namespace galen::agent {
namespace {

using history::PodEnd;
using history::PostMortem;
using history::ReceivedFinding;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr WallTime kEndOfEntry(std::chrono::seconds(1'795'269'734));

ReceivedFinding Finding(HealthState state, Duration since, Duration reported) {
  ReceivedFinding finding;
  finding.health.id = {"gpu.example.com", "node-7", "gpu-3"};
  finding.health.state = state;
  finding.health.since = kEndOfEntry + since;
  finding.received = kEndOfEntry + reported;
  return finding;
}

PostMortem Record() {
  PostMortem record;
  record.first = record.ended = kEndOfEntry;
  record.devices.resize(1);
  return record;
}

TEST(AddFinding, KeepsTheOrderOfReportsAndTheFirstInItsPlace) {
  const PostMortem record = Record();
  history::PostMortemDevice device;
  EXPECT_TRUE(AddFinding(record, Finding(HealthState::kHealthy, -1h, 9min), device));
  EXPECT_TRUE(AddFinding(record, Finding(HealthState::kHealthy, 2s, 3s), device));
  EXPECT_TRUE(AddFinding(record, Finding(HealthState::kUnhealthy, 1s, 2s), device));
  EXPECT_FALSE(AddFinding(record, Finding(HealthState::kUnhealthy, 1s, 4s), device)) << "once more";
  ASSERT_THAT(device.findings, SizeIs(3));
  EXPECT_EQ(device.findings[0].received, kEndOfEntry + 9min);
  EXPECT_EQ(device.findings[1].received, kEndOfEntry + 2s);
  EXPECT_EQ(device.findings[2].received, kEndOfEntry + 3s);
}

TEST(AddFinding, ADriverThatIsBackAndRepeatsItselfEndsTheSilence) {
  const PostMortem record = Record();
  history::PostMortemDevice device;
  const ReceivedFinding well = Finding(HealthState::kHealthy, -1h, -1h);
  const ReceivedFinding silent = Finding(HealthState::kUnknown, -30s, -30s);
  const ReceivedFinding again = Finding(HealthState::kHealthy, -1h, -1s);
  for (const auto& finding : {well, silent, again})
    EXPECT_TRUE(AddFinding(record, finding, device));
  // As after a restart, when the journal gives them anew.
  for (const auto& finding : {well, silent, again})
    EXPECT_FALSE(AddFinding(record, finding, device));
  EXPECT_EQ(device.findings, (std::vector<ReceivedFinding>{well, silent, again}));
}

TEST(AddFinding, OfADeviceThatFlapsTheFirstAndThoseNearTheEndStay) {
  const PostMortem record = Record();
  history::PostMortemDevice device;
  AddFinding(record, Finding(HealthState::kHealthy, -1h, -1h), device);
  for (int i = -400; i < 400; ++i) {
    AddFinding(record, Finding(HealthState::kUnhealthy, i * 1s + 500ms, i * 1s + 500ms), device);
  }
  ASSERT_THAT(device.findings, SizeIs(history::kMortemFindingsMax));
  EXPECT_EQ(device.findings[0].received, kEndOfEntry - 1h);
  EXPECT_EQ(device.findings[1].received, kEndOfEntry - 17500ms);
  EXPECT_EQ(device.findings.back().received, kEndOfEntry + 4500ms)
      << "what comes later is weaker evidence";
  EXPECT_FALSE(AddFinding(record, Finding(HealthState::kHealthy, 2min, 2min), device))
      << "what is not kept is no news";
}

TEST(DevicesOfHeld, NameEachDeviceOnceWithAllWhoSeeIt) {
  const DeviceId gpu{"gpu.example.com", "node-7", "gpu-3"};
  const auto held = [&](const std::string& share, const std::string& claim,
                        const std::string& container) {
    return HeldDevice{.device = gpu,
                      .share_id = share,
                      .claim = claim,
                      .uses = {{.container = container, .entry = ""}}};
  };
  const std::vector<history::PostMortemDevice> devices =
      DevicesOfHeld({held("s1", "a", "train"), held("s2", "a", "log"), held("s2", "a", "train"),
                     held("s3", "b", "other")},
                    [](const DeviceId& id) { return DeviceIdentity{.id = id}; });
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].containers, (std::vector<std::string>{"train", "log"}));
  EXPECT_EQ(devices[1].claim, "b");
  EXPECT_FALSE(devices[0].admin);
}

TEST(DevicesOfHeld, AreOfAdminAccessWhereNoRequestWorksOnThem) {
  const auto held = [](int gpu, bool admin) {
    return HeldDevice{.device = {"gpu.example.com", "node-7", "gpu-" + std::to_string(gpu)},
                      .claim = "a",
                      .admin_access = admin};
  };
  const std::vector<history::PostMortemDevice> devices = DevicesOfHeld(
      {held(0, true), held(0, true), held(1, true), held(1, false), held(2, false), held(2, true)},
      [](const DeviceId& id) { return DeviceIdentity{.id = id}; });
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_TRUE(devices[0].admin);
  EXPECT_FALSE(devices[1].admin);
  EXPECT_FALSE(devices[2].admin);
}

TEST(WithNoted, KeepsWhatWasGivenBackAndWhoADeviceWas) {
  const auto device = [](const std::string& name, const std::string& serial) {
    history::PostMortemDevice made;
    made.identity = {{"gpu.example.com", "node-7", name}, serial, serial.empty() ? "" : "H200"};
    return made;
  };
  const auto all = WithNoted({device("gpu-3", ""), device("gpu-4", "S4")},
                             {device("gpu-3", "S3"), device("gpu-9", "S9")});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0], device("gpu-9", "S9"));
  EXPECT_EQ(all[1], device("gpu-3", "S3")) << "it fell off the bus, and out of its driver's slice";
  EXPECT_EQ(all[2], device("gpu-4", "S4"));
}

TEST(AddPod, TakesEndsOfTheWindowAndWhatIsSaidOfThemLater) {
  PostMortem record;
  record.first = record.ended = kEndOfEntry;
  kube::Pod pod;
  pod.meta.owners = {{.name = "job", .uid = "job-uid", .controller = true}};
  pod.asked_to_go = kEndOfEntry - 1s;
  pod.statuses = {{.name = "train", .exit_code = 134, .finished = kEndOfEntry},
                  {.name = "old", .exit_code = 1, .finished = kEndOfEntry - 1h},
                  {.name = "runs", .running = true}};
  AddPod(record, pod);
  ASSERT_THAT(record.containers, SizeIs(1));
  pod.statuses[0].end_message = "device lost";
  AddPod(record, pod);
  ASSERT_THAT(record.containers, SizeIs(1));
  EXPECT_EQ(record.containers[0].message, "device lost");
  pod.statuses[0].end_message = "\tdevice\n\nlost\n";
  AddPod(record, pod);
  EXPECT_EQ(record.containers[0].message, "device\nlost") << "as it is kept";
  EXPECT_EQ(record.owner, "job-uid");
  EXPECT_EQ(record.asked, kEndOfEntry - 1s);
}

TEST(AddPod, SaysWhenThePodBegan) {
  PostMortem record = Record();
  kube::Pod pod;
  pod.meta.created = kEndOfEntry - 2min;
  AddPod(record, pod);
  EXPECT_EQ(record.began, kEndOfEntry - 2min);
  pod.started = kEndOfEntry - 1min;
  AddPod(record, pod);
  EXPECT_EQ(record.began, kEndOfEntry - 1min);
}

TEST(EventOfPostMortem, IsAWarningInOneSentence) {
  PostMortem record;
  record.end = history::PodEnd::kFailed;
  record.containers = {{.container = "train", .exit_code = 134}};
  const EventText event = EventOf(record);
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.reason, EventReason::kPostMortem);
  EXPECT_THAT(event.message, HasSubstr("Failed, container train, exit 134 (SIGABRT)"));
}

TEST(EventOfPostMortem, OfADeletedPodIsNoWarningUnlessItHadCrashed) {
  PostMortem record;
  record.end = history::PodEnd::kDeleted;
  record.asked = kEndOfEntry - 30s;
  record.containers = {{.container = "train", .exit_code = 137, .finished = kEndOfEntry}};
  EXPECT_FALSE(EventOf(record).warning);
  EXPECT_THAT(EventOf(record).message,
              HasSubstr("Deleted, container train, exit 137 (SIGKILL); nothing crashed"));
  record.asked = kEndOfEntry + 1s;
  EXPECT_TRUE(EventOf(record).warning);
}

constexpr WallTime kEndOfStory(std::chrono::seconds(1'795'269'731));

PostMortem RecordOf(PodEnd end) {
  PostMortem record;
  record.end = end;
  record.first = record.ended = kEndOfStory;
  record.over = IsLast(end);
  return record;
}

TEST(PostMortemStory, CrashesOfFiveMinutesAreOneFromTheFirstOn) {
  PostMortem record = RecordOf(PodEnd::kCrashed);
  const PodEnding second{PodEnd::kCrashed, "", kEndOfStory + 4min};
  ASSERT_TRUE(BelongsTo(record, second));
  AddEnding(record, second);
  EXPECT_EQ(record.ended, kEndOfStory + 4min);
  EXPECT_TRUE(BelongsTo(record, {PodEnd::kCrashed, "", kEndOfStory + 5min}));
  EXPECT_FALSE(BelongsTo(record, {PodEnd::kCrashed, "", kEndOfStory + 6min}));
}

TEST(PostMortemStory, ADeletionSoonAfterACrashEndsItsStory) {
  PostMortem record = RecordOf(PodEnd::kCrashed);
  AddEnding(record, {PodEnd::kDeleted, "DeletionByTaintManager", kEndOfStory + 1min});
  EXPECT_EQ(record.end, PodEnd::kDeleted);
  EXPECT_EQ(record.reason, "DeletionByTaintManager");
  EXPECT_TRUE(record.over);
  EXPECT_TRUE(BelongsTo(record, {PodEnd::kGone, "", kEndOfStory + 24h}));
}

TEST(PostMortemStory, ARebootAfterACrashIsAStoryOfItsOwn) {
  EXPECT_FALSE(
      BelongsTo(RecordOf(PodEnd::kCrashed), {PodEnd::kNodeReboot, "", kEndOfStory + 3min}));
}

TEST(PostMortemStory, CrashesAfterARebootDoNotKeepItsStoryOpen) {
  PostMortem record = RecordOf(PodEnd::kNodeReboot);
  for (const Duration after : {2min, 4min}) {
    const PodEnding crash{PodEnd::kCrashed, "", kEndOfStory + after};
    ASSERT_TRUE(BelongsTo(record, crash));
    AddEnding(record, crash);
  }
  EXPECT_EQ(record.ended, kEndOfStory);
  EXPECT_FALSE(BelongsTo(record, {PodEnd::kCrashed, "", kEndOfStory + 6min}));
}

TEST(PostMortemStory, APodThatGoesSoonAfterARebootWentByIt) {
  PostMortem record = RecordOf(PodEnd::kNodeReboot);
  AddEnding(record, {PodEnd::kDeleted, "", kEndOfStory + 1min});
  EXPECT_EQ(record.end, PodEnd::kNodeReboot);
  EXPECT_TRUE(record.over);
}

}  // namespace
}  // namespace galen::agent
