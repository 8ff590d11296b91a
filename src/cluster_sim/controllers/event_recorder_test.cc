#include "cluster_sim/controllers/event_recorder.h"

#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "cluster_sim/app/fake_cluster.h"

namespace galen::cluster_sim {
namespace {

class EventRecorderTest : public ::testing::Test {
 protected:
  FakeCluster cluster_;
  Random random_{7};
  EventRecorder events_{cluster_.loop(), cluster_.client(), random_, NullLog(), "tester"};
};

TEST_F(EventRecorderTest, AnEventSaysWhatHappenedToWhomAndWhoSaysSo) {
  events_.Record(api_sim::FakePod("a"), EventType::kWarning, "Broken", "it broke");
  cluster_.Pass();
  const std::vector<Json> events = cluster_.List(kube::kEvents);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["involvedObject"]["kind"].AsString(), "Pod");
  EXPECT_EQ(events[0]["involvedObject"]["uid"].AsString(), "uid-default-a");
  EXPECT_EQ(events[0]["metadata"]["namespace"].AsString(), "default");
  EXPECT_EQ(events[0]["type"].AsString(), "Warning");
  EXPECT_EQ(events[0]["message"].AsString(), "it broke");
  EXPECT_EQ(events[0]["source"]["component"].AsString(), "tester");
}

TEST_F(EventRecorderTest, EqualEventsAreOneObjectWithACount) {
  for (int i = 0; i < 3; ++i) {
    events_.Record(api_sim::FakePod("a"), EventType::kNormal, "Same", "again");
    cluster_.Pass();
  }
  events_.Record(api_sim::FakePod("a"), EventType::kNormal, "Same", "but different");
  cluster_.Pass();
  std::map<std::string, std::int64_t> counts;
  for (const Json& event : cluster_.List(kube::kEvents)) {
    counts[event["message"].AsString()] = event["count"].AsInt();
  }
  EXPECT_EQ(counts, (std::map<std::string, std::int64_t>{{"again", 3}, {"but different", 1}}));
}

TEST_F(EventRecorderTest, AnEventThatTheServerForgotIsMadeAnew) {
  const auto record = [this] {
    events_.Record(api_sim::FakePod("a"), EventType::kNormal, "Same", "again");
    cluster_.Pass();
  };
  record();
  const std::string name = cluster_.List(kube::kEvents).at(0)["metadata"]["name"].AsString();
  cluster_.Delete(kube::kEvents, name, "default");
  record();
  const std::vector<Json> events = cluster_.List(kube::kEvents);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["count"].AsInt(), 1);
}

TEST_F(EventRecorderTest, LongMessagesAreCut) {
  events_.Record(api_sim::FakePod("a"), EventType::kNormal, "Long", std::string(5000, 'x'));
  cluster_.Pass();
  EXPECT_LE(cluster_.List(kube::kEvents).at(0)["message"].AsString().size(),
            kube::kEventMessageBytesMax);
}

TEST_F(EventRecorderTest, WhatIsRememberedIsBounded) {
  const auto again = [this] {
    events_.Record(api_sim::FakePod("a"), EventType::kNormal, "First", "first");
    cluster_.Pass();
  };
  again();
  for (std::size_t i = 0; i < EventRecorder::kRememberedMax; ++i) {
    events_.Record(api_sim::FakePod("a"), EventType::kNormal, "Other", std::to_string(i));
  }
  again();
  std::size_t firsts = 0;
  for (const Json& event : cluster_.List(kube::kEvents)) {
    firsts += event["reason"].AsString() == "First" ? 1U : 0U;
  }
  EXPECT_EQ(firsts, 2U);
}

}  // namespace
}  // namespace galen::cluster_sim
