#include "agent/post_mortem/post_mortem_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"

namespace galen::agent {
namespace {

using history::PodEnd;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr WallTime kEndTime(std::chrono::seconds(1'795'269'734));

kube::Pod Running() {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  pod.meta.uid = "uid-1";
  pod.phase = "Running";
  pod.statuses.push_back({.name = "train", .running = true});
  return pod;
}

kube::Pod Crashed(int code, WallTime finished) {
  kube::Pod pod = Running();
  pod.statuses[0] = {.name = "train",
                     .exit_code = code,
                     .reason = "CrashLoopBackOff",
                     .finished = finished,
                     .restarts = 1,
                     .end_reason = "Error",
                     .end_message = "device lost"};
  return pod;
}

TEST(EndingOf, APodThatRunsHasNone) {
  const kube::Pod pod = Running();
  EXPECT_EQ(EndingOf(&pod, &pod, kEndTime), std::nullopt);
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime), std::nullopt);
  EXPECT_EQ(EndingOf(nullptr, nullptr, kEndTime), std::nullopt);
}

TEST(EndingOf, ACrashIsOneOnceAndThePastOfANewPodIsNone) {
  const kube::Pod before = Running(), after = Crashed(134, kEndTime - 2s);
  EXPECT_EQ(EndingOf(&before, &after, kEndTime), (PodEnding{PodEnd::kCrashed, "", kEndTime - 2s}));
  EXPECT_EQ(EndingOf(&after, &after, kEndTime), std::nullopt);
  EXPECT_EQ(EndingOf(nullptr, &after, kEndTime), std::nullopt);
  const kube::Pod well = Crashed(0, kEndTime - 2s);
  EXPECT_EQ(EndingOf(&before, &well, kEndTime), std::nullopt) << "it ended well";
}

TEST(EndingOf, ACrashWhileNobodyLookedIsOne) {
  const kube::Pod pod = Crashed(134, kEndTime - 20s);
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime, kEndTime - 30s),
            (PodEnding{PodEnd::kCrashed, "", kEndTime - 20s}));
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime, kEndTime - 10s), std::nullopt) << "the past";
  const kube::Pod well = Crashed(0, kEndTime - 20s);
  EXPECT_EQ(EndingOf(nullptr, &well, kEndTime, kEndTime - 30s), std::nullopt);
}

TEST(EndingOf, AnInitContainersCrashIsOne) {
  const kube::Pod before = Running();
  kube::Pod after = before;
  after.init_statuses.push_back({.name = "fetch", .exit_code = 1, .finished = kEndTime});
  EXPECT_EQ(EndingOf(&before, &after, kEndTime)->end, PodEnd::kCrashed);
  EXPECT_THAT(ContainerEndsOf(after), SizeIs(1));
}

TEST(EndingOf, PhasesEndAPodAtItsLastContainersEnd) {
  kube::Pod pod = Crashed(134, kEndTime - 9s);
  pod.phase = "Failed";
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime), (PodEnding{PodEnd::kFailed, "", kEndTime - 9s}));
  pod.reason = "DeadlineExceeded";
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime)->end, PodEnd::kFailed) << "no eviction";
  pod.phase = "Succeeded";
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime)->end, PodEnd::kSucceeded);
  pod.statuses[0].finished = kEndTime + 1h;
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime)->time, kEndTime) << "by a clock that is ahead";
}

TEST(EndingOf, APodThatWaitedToBeStartedAgainEndedWhenItWasAskedToGo) {
  kube::Pod pod = Crashed(3, kEndTime - 5min);
  pod.phase = "Failed";
  pod.asked_to_go = kEndTime - 2s;
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime), (PodEnding{PodEnd::kDeleted, "", kEndTime - 2s}));
}

TEST(EndingOf, WhoTookThePodAwayIsNamed) {
  kube::Pod pod = Running();
  EXPECT_EQ(EndingOf(&pod, nullptr, kEndTime), (PodEnding{PodEnd::kDeleted, "", kEndTime}));
  pod.conditions.push_back(
      {.type = "DisruptionTarget", .status = "True", .reason = "DeletionByTaintManager"});
  EXPECT_EQ(EndingOf(&pod, nullptr, kEndTime),
            (PodEnding{PodEnd::kEvicted, "DeletionByTaintManager", kEndTime}));
  pod.phase = "Failed";
  pod.reason = "Evicted";
  EXPECT_EQ(EndingOf(&pod, &pod, kEndTime), (PodEnding{PodEnd::kEvicted, "Evicted", kEndTime}));
}

TEST(EndingOf, APodThatWasAskedToGoWasDeletedWhateverItsContainersSaid) {
  kube::Pod pod = Crashed(143, kEndTime - 1s);
  pod.phase = "Failed";
  pod.asked_to_go = kEndTime - 30s;
  EXPECT_EQ(EndingOf(nullptr, &pod, kEndTime)->end, PodEnd::kDeleted);
}

TEST(EndingOf, AContainerThatEndsBecauseItsPodWasDeletedDidNotCrash) {
  const kube::Pod before = Running();
  kube::Pod after = Crashed(137, kEndTime - 1s);
  after.asked_to_go = kEndTime - 31s;
  EXPECT_EQ(EndingOf(&before, &after, kEndTime), std::nullopt) << "it has not gone yet";
  EXPECT_EQ(EndingOf(nullptr, &after, kEndTime, kEndTime - 1min), std::nullopt);
  after.asked_to_go = kEndTime;
  EXPECT_EQ(EndingOf(&before, &after, kEndTime)->end, PodEnd::kCrashed) << "before that";
}

TEST(ContainerEndsOf, ShowTheEndAndNotWhatTheContainerDoesNow) {
  const std::vector<ContainerEnd> ends = ContainerEndsOf(Crashed(134, kEndTime));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].reason, "Error");
  EXPECT_EQ(ends[0].message, "device lost");
  EXPECT_EQ(ends[0].restarts, 1);
  kube::Pod again = Crashed(134, kEndTime);
  again.statuses[0].running = true;
  EXPECT_EQ(ContainerEndsOf(again).at(0).restarts, 0) << "its restart came after this end";
  EXPECT_TRUE(ContainerEndsOf(Running()).empty());
}

TEST(ContainerEndsOf, DistinguishInitContainersFromSidecars) {
  using Kind = kube::Container::Kind;
  kube::Pod pod = Crashed(134, kEndTime);
  pod.containers = {{.name = "train"},
                    {.name = "fetch", .kind = Kind::kInit},
                    {.name = "proxy", .kind = Kind::kSidecar}};
  pod.init_statuses = {{.name = "fetch", .exit_code = 0, .finished = kEndTime - 1h},
                       {.name = "proxy", .exit_code = 0, .finished = kEndTime}};
  const std::vector<ContainerEnd> ends = ContainerEndsOf(pod);
  ASSERT_THAT(ends, SizeIs(3));
  EXPECT_TRUE(ends[0].init);
  EXPECT_FALSE(ends[1].init) << "a sidecar runs beside the others";
  EXPECT_FALSE(ends[2].init);
}

kube::Pod PodThatEnded(std::optional<int> exit_code, WallTime finished) {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  pod.meta.uid = "uid-1";
  kube::ContainerStatus status;
  status.name = "train";
  status.exit_code = exit_code;
  status.reason = "CrashLoopBackOff";
  status.end_reason = "Error";
  status.finished = finished;
  pod.statuses.push_back(status);
  return pod;
}

TEST(NewCrashes, NamesAContainerThatEndedBadlyOnce) {
  const kube::Pod running = [] {
    kube::Pod pod = PodThatEnded(std::nullopt, {});
    pod.statuses[0].finished.reset();
    return pod;
  }();
  const kube::Pod crashed = PodThatEnded(134, WallTime(5s));
  const std::vector<Crash> crashes = NewCrashes(&running, crashed);
  ASSERT_THAT(crashes, SizeIs(1));
  EXPECT_EQ(crashes[0].text, "container train, exit 134 (SIGABRT)");
  EXPECT_EQ(crashes[0].time, WallTime(5s));
  EXPECT_EQ(crashes[0].pod, crashed.ref());
  EXPECT_THAT(NewCrashes(&crashed, crashed), IsEmpty());
  EXPECT_THAT(NewCrashes(&crashed, PodThatEnded(134, WallTime(9s))), SizeIs(1)) << "once more";
}

TEST(NewCrashes, AGoodEndAndThePastOfAPodThatIsNewAreNone) {
  const kube::Pod before = PodThatEnded(1, WallTime(5s));
  EXPECT_THAT(NewCrashes(&before, PodThatEnded(0, WallTime(9s))), IsEmpty());
  EXPECT_THAT(NewCrashes(nullptr, before), IsEmpty());
}

// `name` beside the main container, which runs unless `main_ended` says when it ended well.
kube::Pod PodWithInit(const std::string& name, kube::Container::Kind kind, std::optional<int> code,
                      std::optional<WallTime> main_ended = {}) {
  kube::Pod pod = Running();
  pod.containers.push_back({.name = name, .kind = kind});
  pod.init_statuses.push_back({.name = name, .running = !code, .exit_code = code});
  if (code) pod.init_statuses[0].finished = WallTime(7s);
  if (main_ended) {
    pod.statuses[0] = {
        .name = "train", .exit_code = 0, .reason = "Completed", .finished = main_ended};
  }
  return pod;
}

TEST(NewCrashes, AreThoseOfInitContainersAndSidecarsToo) {
  for (const auto kind : {kube::Container::Kind::kInit, kube::Container::Kind::kSidecar}) {
    const kube::Pod before = PodWithInit("fetch", kind, std::nullopt);
    const kube::Pod after = PodWithInit("fetch", kind, 139);
    const std::vector<Crash> crashes = NewCrashes(&before, after);
    ASSERT_THAT(crashes, SizeIs(1));
    EXPECT_EQ(crashes[0].text, "container fetch, exit 139 (SIGSEGV)");
    EXPECT_EQ(crashes[0].time, WallTime(7s));
    EXPECT_THAT(NewCrashes(&after, after), IsEmpty());
  }
}

TEST(NewCrashes, ASidecarThatIsStoppedWithItsPodIsNone) {
  const auto sidecar = kube::Container::Kind::kSidecar;
  const kube::Pod before = PodWithInit("log", sidecar, std::nullopt);
  kube::Pod done = PodWithInit("log", sidecar, 143, WallTime(6s));
  done.restart_policy = "Never";
  EXPECT_THAT(NewCrashes(&before, done), IsEmpty());
  done.restart_policy = "OnFailure";
  done.statuses[0].exit_code = 0;
  EXPECT_THAT(NewCrashes(&before, done), IsEmpty());
  kube::Pod asked = PodWithInit("log", sidecar, 143);
  asked.asked_to_go = WallTime(6s);
  EXPECT_THAT(NewCrashes(&before, asked), IsEmpty());
}

TEST(NewCrashes, OfAPodThatWasAskedToGoAreThoseBeforeThat) {
  const kube::Pod before = Running();
  kube::Pod after = Crashed(137, WallTime(9s));
  after.asked_to_go = WallTime(9s);
  EXPECT_THAT(NewCrashes(&before, after), IsEmpty());
  after.asked_to_go = WallTime(10s);
  EXPECT_THAT(NewCrashes(&before, after), SizeIs(1));
}

TEST(NewCrashes, ASidecarThatCrashesBesideAContainerThatIsStartedAgainIsOne) {
  const auto sidecar = kube::Container::Kind::kSidecar;
  const kube::Pod before = PodWithInit("log", sidecar, std::nullopt);
  kube::Pod both = PodWithInit("log", sidecar, 134, WallTime(6s));
  for (const char* policy : {"", "Always", "OnFailure"}) {
    both.restart_policy = policy;
    both.statuses[0].exit_code = 134;
    EXPECT_THAT(NewCrashes(&before, both), Contains(Field(&Crash::text, HasSubstr("log"))))
        << policy;
  }
}

TEST(NewCrashes, OfAPodThatWasMadeAgainUnderItsNameAreNotComparedWithTheFormerOnes) {
  kube::Pod former = Running();
  former.meta.uid = "uid-0";
  EXPECT_THAT(NewCrashes(&former, Crashed(134, WallTime(9s))), IsEmpty());
}

constexpr WallTime kEventTime(std::chrono::seconds(1'795'269'734));
constexpr std::string_view kMemory =
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. ";

class NodeEventsTest : public ::testing::Test {
 protected:
  void AddPod(const std::string& name, std::string_view message, WallTime time,
              const std::string& reason = "TerminationByKubelet") {
    view_.AddPod(name).conditions = {{.type = "DisruptionTarget",
                                      .status = "True",
                                      .reason = reason,
                                      .message = std::string(message),
                                      .changed = time}};
  }
  std::vector<NodeEvent> Events() {
    return NodeEventsOf(view_, kEventTime - 5min, kEventTime + 5min);
  }

  FakeNodeView view_;
};

TEST_F(NodeEventsTest, AreWhatTheKubeletSaysOfTheFirstPodThatItTookDown) {
  AddPod("a", kMemory, kEventTime - 1s);
  AddPod("b", kMemory, kEventTime - 3s);
  AddPod("c", "The node was low on resource: ephemeral-storage. ", kEventTime);
  const std::vector<NodeEvent> events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, NodeEvent::Kind::kMemoryPressure);
  EXPECT_EQ(events[0].time, kEventTime - 3s);
  EXPECT_EQ(events[0].text, "the node was short of memory");
  EXPECT_EQ(events[1].kind, NodeEvent::Kind::kDiskPressure);
}

TEST_F(NodeEventsTest, ShowAShutdown) {
  AddPod("a", "Pod was terminated in response to imminent node shutdown.", kEventTime);
  EXPECT_THAT(Events(), ElementsAre(testing::Field(&NodeEvent::kind, NodeEvent::Kind::kShutdown)));
}

TEST_F(NodeEventsTest, AreNotWhatOthersDoToPodsNorWhatWasAtAnotherTime) {
  AddPod("a", "a Pod of higher priority, low on resource: memory", kEventTime,
         "PreemptionByScheduler");
  AddPod("b", kMemory, kEventTime - 6min);
  AddPod("c", "critical Pod admission", kEventTime);
  EXPECT_THAT(Events(), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
