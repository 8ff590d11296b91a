#include "agent/post_mortem/node_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST_F(NodeEventsTest, TellOfAShutdown) {
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
