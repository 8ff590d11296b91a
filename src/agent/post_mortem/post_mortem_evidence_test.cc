#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"
#include "agent/post_mortem/post_mortem_keeper.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using history::PostMortem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kEndOfPod(std::chrono::seconds(1'795'269'734));

DeviceId MortemGpu(int i) { return {"gpu.example.com", "node-1", "gpu-" + std::to_string(i)}; }

PostMortem Record(const std::string& name, int gpu) {
  PostMortem record;
  record.pod = {{"default", name}, "uid-" + name};
  record.end = history::PodEnd::kFailed;
  record.first = record.ended = kEndOfPod;
  record.owner = "job";
  record.containers = {{.container = "train", .exit_code = 134, .finished = kEndOfPod}};
  record.devices.resize(1);
  record.devices[0].identity.id = MortemGpu(gpu);
  record.devices[0].findings.resize(1);
  return record;
}

class EvidenceTest : public ::testing::Test {
 protected:
  // It crashed at that time, if at all, and runs since.
  kube::ContainerStatus& AddPod(const std::string& name, int gpu,
                                std::optional<WallTime> crashed = {}, bool admin = false) {
    kube::Pod& pod = view_.AddPod(name);
    pod.meta.owners = {{.uid = "job", .controller = true}};
    pod.statuses = {{.name = pod.containers.at(0).name, .running = true}};
    pod.statuses[0].running_since = kEndOfPod - 2h;
    if (crashed) {
      pod.statuses[0].exit_code = 1;
      pod.statuses[0].finished = pod.statuses[0].running_since = crashed;
    }
    view_.AddClaim(name + "-gpu", {{.device = MortemGpu(gpu), .admin_access = admin}}, name);
    index_.PodChanged({"default", name});
    return pod.statuses[0];
  }
  CrashEvidence Gather(const PostMortem& record, std::vector<const PostMortem*> ended = {}) {
    return EvidenceOf(record, {.view = view_,
                               .claims = index_,
                               .worst_of =
                                   [](const DeviceId& id, WallTime, WallTime) {
                                     return id == MortemGpu(0) ? HealthState::kUnhealthy
                                                               : HealthState::kHealthy;
                                   },
                               .ended = std::move(ended)});
  }
  FakeNodeView view_;
  FakePreparedDevices prepared_;
  ClaimIndex index_{view_, prepared_};
};

TEST_F(EvidenceTest, HasTheRecordsOwnEndsAndFindings) {
  PostMortem record = Record("a", 0);
  record.reason = "Evicted";
  record.asked = kEndOfPod - 30s;
  const CrashEvidence evidence = Gather(record);
  EXPECT_EQ(evidence.pod, record.pod);
  EXPECT_EQ(evidence.pod_reason, "Evicted");
  EXPECT_EQ(evidence.deleted, kEndOfPod - 30s);
  EXPECT_EQ(evidence.containers, record.containers);
  ASSERT_THAT(evidence.devices, SizeIs(1));
  EXPECT_EQ(evidence.devices[0].identity.id, MortemGpu(0));
  EXPECT_THAT(evidence.devices[0].findings, SizeIs(1));
  EXPECT_THAT(evidence.neighbours, IsEmpty());
  EXPECT_THAT(evidence.node_events, IsEmpty());
}

TEST_F(EvidenceTest, SiblingsOnTheSameDeviceComeBeforePeers) {
  AddPod("a", 0);
  AddPod("b", 1, kEndOfPod - 1h);
  AddPod("c", 0, kEndOfPod + 2s);
  const CrashEvidence evidence = Gather(Record("a", 0));
  ASSERT_THAT(evidence.neighbours, SizeIs(2)) << "itself is no neighbour";
  const Neighbour& sibling = evidence.neighbours[0];
  EXPECT_EQ(sibling.pod.key.name, "c");
  EXPECT_TRUE(sibling.same_device);
  EXPECT_TRUE(sibling.same_workload);
  EXPECT_EQ(sibling.devices, HealthState::kUnhealthy);
  EXPECT_EQ(sibling.end->exit_code, 1);
  EXPECT_FALSE(evidence.neighbours[1].same_device);
  EXPECT_EQ(evidence.neighbours[1].devices, HealthState::kHealthy);
  EXPECT_EQ(evidence.neighbours[1].end, std::nullopt) << "outside the window";
}

TEST_F(EvidenceTest, OneThatDidNotLiveThroughTheEndIsNoNeighbour) {
  AddPod("waits", 0).running = false;
  AddPod("began-later", 1).running_since = kEndOfPod + 1s;
  AddPod("ended-long-ago", 1, kEndOfPod - 1h).running = false;
  view_.AddPod("pending").meta.owners = {{.uid = "job", .controller = true}};
  EXPECT_THAT(Gather(Record("a", 0)).neighbours, IsEmpty());
}

TEST_F(EvidenceTest, AMonitorWithAdminAccessIsNoSibling) {
  AddPod("monitor", 0, {}, true);
  const CrashEvidence evidence = Gather(Record("a", 0));
  ASSERT_THAT(evidence.neighbours, SizeIs(1));
  EXPECT_FALSE(evidence.neighbours[0].same_device);
  EXPECT_EQ(evidence.neighbours[0].devices, std::nullopt) << "and works on none of its own";
}

TEST_F(EvidenceTest, PodsThatAreGoneAreNeighboursByTheirRecords) {
  PostMortem gone = Record("b", 0), long_gone = Record("c", 0);
  long_gone.ended = kEndOfPod - 1h;
  const CrashEvidence evidence = Gather(Record("a", 0), {&gone, &long_gone});
  ASSERT_THAT(evidence.neighbours, SizeIs(1));
  EXPECT_EQ(evidence.neighbours[0].pod, gone.pod);
  EXPECT_TRUE(evidence.neighbours[0].same_workload);
}

TEST_F(EvidenceTest, AMonitorThatIsGoneIsNoSiblingEither) {
  PostMortem gone = Record("monitor", 0);
  gone.devices[0].admin = true;
  const CrashEvidence evidence = Gather(Record("a", 0), {&gone});
  ASSERT_THAT(evidence.neighbours, SizeIs(1));
  EXPECT_FALSE(evidence.neighbours[0].same_device);
  EXPECT_EQ(evidence.neighbours[0].devices, std::nullopt) << "and worked on none of its own";
}

// It went in the window, but what it has no end of in the window is dead all the same.
TEST_F(EvidenceTest, NothingOfAPodThatIsGoneGoesOn) {
  PostMortem gone = Record("b", 0);
  const WallTime long_ago = gone.ended - kCrashWindow - 1s;
  gone.containers = {{.container = "fetch", .exit_code = 1, .finished = kEndOfPod, .init = true},
                     {.container = "first", .exit_code = 0, .finished = long_ago},
                     {.container = "lost", .exit_code = 137, .finished = {}},
                     {.container = "train", .exit_code = 134, .finished = kEndOfPod}};
  const CrashEvidence evidence = Gather(Record("a", 0), {&gone});
  ASSERT_THAT(evidence.neighbours, SizeIs(1));
  EXPECT_EQ(evidence.neighbours[0].container, "train");
  EXPECT_EQ(evidence.neighbours[0].end, gone.containers.back());
}

TEST_F(EvidenceTest, ARebootOfTheNodeIsEverybodysOnce) {
  PostMortem rebooted = Record("b", 1), other = Record("c", 2);
  rebooted.end = other.end = history::PodEnd::kNodeReboot;
  EXPECT_THAT(Gather(Record("a", 0), {&rebooted, &other}).node_events, SizeIs(1));
}

TEST_F(EvidenceTest, WhatTheKubeletSaysOfTheNodeIsEverybodys) {
  view_.AddPod("evicted").conditions = {{.type = "DisruptionTarget",
                                         .status = "True",
                                         .reason = "TerminationByKubelet",
                                         .message = "The node was low on resource: memory. ",
                                         .changed = kEndOfPod - 10s}};
  const CrashEvidence evidence = Gather(Record("a", 0));
  ASSERT_THAT(evidence.node_events, SizeIs(1));
  EXPECT_EQ(evidence.node_events[0].kind, NodeEvent::Kind::kMemoryPressure);
}

TEST_F(EvidenceTest, ADriverThatSaysItDoesNotFitIsHeard) {
  PostMortem record = Record("a", 0);
  record.devices[0].findings[0].health.cause = {"DriverMismatch", "", "550.1", "550.2", "", {}};
  const CrashEvidence evidence = Gather(record);
  ASSERT_TRUE(evidence.driver_mismatch);
  EXPECT_EQ(*evidence.driver_mismatch, (DriverMismatch{"gpu.example.com", "550.1", "550.2"}));
}

}  // namespace
}  // namespace galen::agent
