// Pods that end, on a whole agent with a cluster around it: what is left of them on the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_endings.h"
#include "history/post_mortem/post_mortem_text.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using history::PodEnd;
using history::PostMortem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kCrdFile = GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml";

std::string Said(const PostMortem& record) {
  std::string said = std::string(ToString(record.end)) + ":";
  for (const auto& device : record.devices) {
    for (const auto& finding : device.findings) {
      said += fmt::format(" {} {}", device.identity.id.device, ToString(finding.health.state));
    }
  }
  return said;
}

// Its one GPU is well and has been trainer-0's for so long, which an observer knows.
struct TrainerNode : AgentNode {
  explicit TrainerNode(Duration lived) : AgentNode(Role::kObserver), driver(AddDriver({"gpu-0"})) {
    driver.Report({Well("gpu-0")});
    AddPod("trainer-0");
    StartAgent();
    Pass(lived);
  }

  FakePlugin& driver;
};

TEST(PostMortem, OfACrashHasDevicesExitCodeMessageAndVerdict) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  driver.Report({Well("gpu-0")});
  node.DefineNodeDeviceHealth(kCrdFile);
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(10min);
  driver.Report({Lost("gpu-0")});
  node.Pass(2700ms);
  CrashContainer(node, "trainer-0", 134, true);
  node.Pass(10s);
  EXPECT_THAT(node.Events("trainer-0"), Contains("PostMortem x1"));
  const Json shown = node.NodeHealth()["postMortems"];
  ASSERT_THAT(shown.items(), SizeIs(1));
  EXPECT_EQ(shown[0]["pod"].AsString(), "trainer-0");
  EXPECT_EQ(shown[0]["end"].AsString(), "Failed");
  EXPECT_EQ(shown[0]["exitCode"].AsInt(), 134);
  EXPECT_EQ(shown[0]["state"].AsString(), "Unhealthy");
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(Said(records[0]), "Failed: gpu-0 Healthy gpu-0 Unhealthy");
  EXPECT_EQ(records[0].node, "node-1");
  EXPECT_TRUE(records[0].over);
  ASSERT_THAT(records[0].containers, SizeIs(1));
  EXPECT_EQ(history::TextOf(records[0].containers[0]), "container main, exit 134 (SIGABRT)");
  EXPECT_EQ(records[0].containers[0].message, "Traceback:\ndevice [31mlost");
  EXPECT_EQ(records[0].devices[0].containers, std::vector<std::string>{"main"});
  EXPECT_TRUE(records[0].published);
}

TEST(PostMortem, OfAnOrdinaryEndIsKeptAndNotPublished) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"}).Report({Well("gpu-0")});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(10min);
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(1min);
  EXPECT_THAT(node.Events("trainer-0"), IsEmpty());
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(Said(records[0]), "Deleted: gpu-0 Healthy");
}

// Its program hung on the lost GPU, so that the kubelet killed it: that is no crash, and whose
// fault it was is not asked. What the device had is shown all the same.
TEST(PostMortem, OfAPodThatWasDeletedSaysSoAndNamesTheFaultThatItsDeviceHad) {
  TrainerNode node(10min);
  node.driver.Report({Lost("gpu-0")});
  node.Pass(40s);
  Hold(node, "trainer-0");
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 30);
  node.Pass(30s);
  CrashContainer(node, "trainer-0", 137, true);
  node.Pass(1s);
  LetGo(node, "trainer-0");
  node.Pass(10s);
  std::string message;
  for (const Json& event : node.cluster.List(kube::kEvents)) {
    if (event["reason"].AsString() != "PostMortem") continue;
    EXPECT_EQ(event["type"].AsString(), "Normal");
    message += event["message"].AsString();
  }
  EXPECT_THAT(message, HasSubstr("Deleted, container main, exit 137 (SIGKILL); gpu-0 Unhealthy"));
  EXPECT_THAT(message, HasSubstr("XID 79: lost; nothing crashed"));
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].end, PodEnd::kDeleted);
  EXPECT_EQ(records[0].verdict, Verdict{});
}

TEST(PostMortem, OfAPodWithoutDevicesThereIsNone) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"});
  node.CreatePod(api_sim::FakePod("web-0"));
  node.StartAgent();
  node.Pass(1min);
  CrashContainer(node, "web-0", 1, true);
  EXPECT_THAT(RecordsOnDisk(node), IsEmpty());
}

// #132978 of Kubernetes: its kubelet forgets the claim, and with it whose device it was.
TEST(PostMortem, AReportAfterThePodAndItsClaimAreGoneStillCounts) {
  TrainerNode node(10min);
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(4min);
  ASSERT_TRUE(node.cluster.Pod("trainer-0").is_null());
  node.driver.Report({Lost("gpu-0")});
  node.Pass(1min);
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(Said(records[0]), "Deleted: gpu-0 Healthy gpu-0 Unhealthy");
}

// By then the device may be another Pod's: it is in the record, and alarms nobody.
TEST(PostMortem, AFaultSomeTimeAfterTheEndIsEnteredAndMakesNoEvent) {
  TrainerNode node(10min);
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(20s);
  node.driver.Report({Lost("gpu-0")});
  node.Pass(1min);
  EXPECT_THAT(Said(RecordsOnDisk(node)[0]), HasSubstr("gpu-0 Unhealthy"));
  EXPECT_THAT(node.Events("trainer-0"), ::testing::Not(Contains("PostMortem x1")));
}

// By the clock it happened before the Pod's end, which lies in the future now.
TEST(PostMortem, AFaultAfterTheClockWasSetBackIsNotOfAPodThatEndedBeforeThat) {
  TrainerNode node(10min);
  CrashContainer(node, "trainer-0", 1, true);
  node.Pass(10s);
  const std::string shown = node.Annotation("trainer-0");
  node.cluster.loop().StepWallClock(-3min);
  node.Pass(1min);
  node.driver.Report({Lost("gpu-0")});
  node.Pass(10s);
  EXPECT_EQ(node.Annotation("trainer-0"), shown);
  EXPECT_THAT(node.Events("trainer-0"), IsEmpty());
  EXPECT_EQ(Said(RecordsOnDisk(node)[0]), "Failed: gpu-0 Healthy");
}

TEST(PostMortem, AReportLongAfterItsWindowIsAnotherPodsStory) {
  TrainerNode node(10min);
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(6min);
  node.driver.Report({Lost("gpu-0")});
  node.Pass(1min);
  EXPECT_EQ(Said(RecordsOnDisk(node)[0]), "Deleted: gpu-0 Healthy");
}

TEST(PostMortem, OfAPodThatWentWhileTheAgentWasAwayIsMadeWhenItIsBack) {
  TrainerNode node(1min);
  node.KillAgent();
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.driver.Report({Lost("gpu-0")});
  node.Pass(2min);
  node.StartAgent();
  node.Pass(10s);
  EXPECT_THAT(node.Events("trainer-0"), Contains("PostMortem x1"));
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].end, PodEnd::kGone);
  EXPECT_FALSE(records[0].exact);
  EXPECT_THAT(Said(records[0]), HasSubstr("gpu-0 Unhealthy"));
}

// The connection is dead for a minute before that is noticed: by then nobody knows when it went.
TEST(PostMortem, OfAPodThatWentWhileTheConnectionWasHalfOpenSaysThatNobodySawIt) {
  TrainerNode node(1min);
  node.api.GoHalfOpen();
  node.Pass(5s);
  const WallTime went = node.cluster.loop().WallNow();
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(55s);
  node.api.NoticeHalfOpen();
  node.Pass(30s);
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].end, PodEnd::kGone);
  EXPECT_FALSE(records[0].exact);
  EXPECT_LE(records[0].first, went);
  EXPECT_GE(records[0].ended, went);
}

TEST(PostMortem, OfACrashWhileTheAgentWasAwayIsMadeWhenItIsBack) {
  TrainerNode node(1min);
  node.KillAgent();
  node.Pass(5s);
  CrashContainer(node, "trainer-0", 134, false);
  node.Pass(15s);
  node.StartAgent();
  node.Pass(1min);
  node.KillAgent();
  node.StartAgent();
  node.Pass(1min);
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1)) << "once";
  EXPECT_EQ(records[0].end, PodEnd::kCrashed);
  ASSERT_THAT(records[0].containers, SizeIs(1));
  EXPECT_EQ(records[0].containers[0].exit_code, 134);
  EXPECT_EQ(records[0].containers[0].restarts, 0);
}

TEST(PostMortem, OfAPodThatWentWhileTheApiWasAwaySaysBetweenWhichTimes) {
  TrainerNode node(10min);
  node.api.SetDown(true);
  const WallTime lost = node.cluster.loop().WallNow();
  node.Pass(1min);
  node.driver.Report({Lost("gpu-0")});
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(3min);
  node.driver.Report({Well("gpu-0")});
  node.Pass(15min);
  node.api.SetDown(false);
  node.Pass(2min);
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(Said(records[0]), "Gone: gpu-0 Healthy gpu-0 Unhealthy gpu-0 Healthy");
  EXPECT_FALSE(records[0].exact);
  EXPECT_LE(records[0].first, lost + 1min);
}

TEST(PostMortem, AContainerThatCrashesAgainAndAgainIsOneStoryForAWhile) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"}).Report({Well("gpu-0")});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(1min);
  CrashContainer(node, "trainer-0", 139, false);
  node.Pass(1min);
  CrashContainer(node, "trainer-0", 139, false);
  node.Pass(10min);
  CrashContainer(node, "trainer-0", 1, false);
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].number, 2);
  EXPECT_THAT(records[0].containers, SizeIs(1));
  EXPECT_EQ(records[1].number, 1);
  EXPECT_THAT(records[1].containers, SizeIs(2));
  EXPECT_EQ(records[1].end, PodEnd::kCrashed);
  EXPECT_FALSE(records[1].over);
}

TEST(PostMortem, ANodeThatWasStartedAnewEndsAllItsPods) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"}).Report({Well("gpu-0")});
  ASSERT_TRUE(node.files.MakeDirectories("/proc/sys/kernel/random", 0755).ok());
  const std::string boot = "/proc/sys/kernel/random/boot_id";
  ASSERT_TRUE(node.files.WriteAtomically(boot, "boot-1\n", 0444).ok());
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(1min);
  node.KillAgent();
  node.Pass(1min);
  node.StartAgent();
  node.Pass(1min);
  node.KillAgent();
  ASSERT_TRUE(node.files.WriteAtomically(boot, "boot-2\n", 0444).ok());
  node.Pass(1min);
  node.StartAgent();
  node.Pass(10s);
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1)) << "a restart of the agent alone ends nothing";
  EXPECT_EQ(records[0].end, PodEnd::kNodeReboot);
  EXPECT_FALSE(records[0].over) << "the Pod is still there";
}

TEST(PostMortem, NothingIsWrittenWhileNothingChanges) {
  AgentNode node(Role::kObserver);
  FakePlugin& driver = node.AddDriver({"gpu-0", "gpu-1"});
  node.DefineNodeDeviceHealth(kCrdFile);
  node.AddPod("trainer-0");
  node.AddPod("trainer-1");
  node.StartAgent();
  node.Pass(5s);
  const std::string lost = node.DeviceOf("trainer-0");
  const std::string well = lost == "gpu-0" ? "gpu-1" : "gpu-0";
  driver.Report({Lost(lost), Well(well)});
  node.Pass(1s);
  CrashContainer(node, "trainer-0", 134, true);
  node.Pass(10min);
  const int api_writes = node.api.writes();
  const std::uint64_t disk_writes = node.files.writes();
  for (int i = 0; i < 60; ++i) {
    driver.Report({Lost(lost), Well(well)});
    node.Pass(2min);
  }
  EXPECT_EQ(node.api.writes(), api_writes);
  EXPECT_EQ(node.files.writes(), disk_writes);
}

TEST(PostMortem, ADiskThatIsFullLosesNoneOnceThereIsRoom) {
  AgentNode node(Role::kObserver);
  node.AddDriver({"gpu-0"}).Report({Well("gpu-0")});
  node.AddPod("trainer-0");
  node.StartAgent();
  node.Pass(1min);
  node.files.FailWrites(ResourceExhausted("disk full"));
  Evict(node, "trainer-0");
  node.Pass(1min);
  EXPECT_THAT(node.app->troubles(), Contains(HasSubstr("post-mortem records: ")));
  node.files.FailWrites(std::nullopt);
  node.Pass(1min);
  EXPECT_THAT(node.app->troubles(), Not(Contains(HasSubstr("post-mortem records: "))));
  EXPECT_EQ(RecordsOnDisk(node)[0].end, PodEnd::kEvicted);
}

// As a virtual node does it: the agent itself has the driver unprepare the claim.
TEST(PostMortem, AReportAfterAManagerUnpreparedTheClaimStillCounts) {
  AgentNode node(Role::kManager);
  FakePlugin& driver = node.AddDriver({"gpu-0"});
  driver.Report({Well("gpu-0")});
  node.StartAgent();
  node.Pass(5s);
  node.AddPod("trainer-0");
  node.Pass(10min);
  ASSERT_EQ(driver.prepared().size(), 1u);
  node.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node.Pass(1min);
  ASSERT_TRUE(driver.prepared().empty());
  driver.Report({Lost("gpu-0")});
  const std::vector<PostMortem> records = RecordsOnDisk(node);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(Said(records[0]), "Deleted: gpu-0 Healthy gpu-0 Unhealthy");
}

}  // namespace
}  // namespace galen::agent
