// Events that are counted by the part of the device that they are about.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Instant PartTime(Duration since_start) {
  return {Time(since_start), WallTime(1000h + since_start)};
}

class SameDetail : public ::testing::Test {
 protected:
  static Rule ThreeOfOneLink() {
    Rule rule;
    rule.id = "nvlink-repeated";
    rule.sign = "nvlink-hardware";
    rule.match = Comparison{Compare::kNotEqual, 0.0};
    rule.state = HealthState::kUnhealthy;
    rule.sentence = "{value} errors on {detail}";
    rule.count = 3;
    rule.window = 1h;
    rule.same_detail = true;
    rule.until = Until::kReboot;
    return rule;
  }
  static void Happen(RuleTrack& track, Duration when, const std::string& link) {
    track.OnEvent(
        {.name = "nvlink-hardware", .value = 74.0, .detail = link, .time = PartTime(when).wall},
        PartTime(when));
  }

  const Rule rule_ = ThreeOfOneLink();
  RuleTrack track_{rule_};
};

TEST_F(SameDetail, EventsOfSeveralLinksDoNotAddUp) {
  for (const Duration when : {0min, 1min}) {
    for (const char* link : {"link 1", "link 2", "link 3"}) Happen(track_, when, link);
  }
  EXPECT_FALSE(track_.finding());
  Happen(track_, 2min, "link 2");
  ASSERT_TRUE(track_.finding());
  EXPECT_EQ(track_.finding()->cause.message, "3 errors on link 2");
}

TEST_F(SameDetail, OnesOfNoKnownLinkCountForNone) {
  for (int i = 0; i < 5; ++i) Happen(track_, i * 1min, "");
  EXPECT_FALSE(track_.finding());
}

TEST_F(SameDetail, LinesOfOneMinuteAreOneEvent) {
  for (const Duration when : {0s, 0s, 1s, 59s, 60s, 100s, 119s}) Happen(track_, when, "link 6");
  EXPECT_FALSE(track_.finding());
  Happen(track_, 120s, "link 6");
  EXPECT_TRUE(track_.finding());
}

// By the engine: what a device's history and its metric of events get.
TEST_F(SameDetail, OnlyTheEventThatBringsTheFindingIsARecordOfTheRule) {
  RuleTable table;
  table.signs = {{.name = "nvlink-hardware", .kind = SignKind::kEvent}};
  table.rules = {ThreeOfOneLink()};
  RuleEngine engine(table, {.driver = "gpu.example.com"});
  engine.SetDevices({"gpu-0"}, PartTime(0s));
  const auto records = [&](Duration when, const std::string& link) {
    std::vector<std::string> messages;
    for (const SignRecord& record : engine
                                        .Evaluate({{.device = "gpu-0",
                                                    .name = "nvlink-hardware",
                                                    .value = 74.0,
                                                    .detail = link,
                                                    .time = PartTime(when).wall}},
                                                  PartTime(when))
                                        .records) {
      messages.push_back(record.cause.message);
    }
    return messages;
  };
  for (const Duration when : {0s, 1s, 2s, 60s}) EXPECT_THAT(records(when, "link 6"), IsEmpty());
  EXPECT_THAT(engine.Findings("gpu-0"), IsEmpty());
  EXPECT_THAT(records(2min, "link 6"), ElementsAre("74 errors on link 6"));
  EXPECT_EQ(engine.Findings("gpu-0").size(), 1u);
  // One error of another link while that stands, and a further one of this.
  EXPECT_THAT(records(3min, "link 3"), IsEmpty());
  EXPECT_THAT(records(4min, "link 6"), IsEmpty());
  EXPECT_EQ(engine.Snapshot().front().cause.message, "3 errors on link 6");
}

TEST_F(SameDetail, TheWindowIsThatOfTheLink) {
  for (const Duration when : {0min, 50min, 70min}) Happen(track_, when, "link 4");
  EXPECT_FALSE(track_.finding()) << "the first of the three is 70 minutes old";
  Happen(track_, 71min, "link 5");
  Happen(track_, 80min, "link 4");
  EXPECT_TRUE(track_.finding());
}

TEST_F(SameDetail, ARestartForgetsNoneOfThem) {
  Happen(track_, 0s, "link 1");
  Happen(track_, 1min, "link 2");
  Happen(track_, 2min, "link 2");
  RuleTrack after(rule_);
  after.Restore(track_.Save(), PartTime(3min));
  Happen(after, 4min, "link 1");
  EXPECT_FALSE(after.finding());
  Happen(after, 5min, "link 2");
  EXPECT_TRUE(after.finding());
}

TEST_F(SameDetail, IsForEventsThatAreCounted) {
  const auto fault = [](std::string_view kind, std::string_view count) {
    return ParseRules(
               fmt::format("signs:\n- {{name: link, kind: {}}}\n- {{name: reset, kind: event}}"
                           "\nrules:\n- {{id: a, sign: link, when: '!= 0', state: Unhealthy, "
                           "code: A, owner: Hardware, sentence: 'On {{detail}}', {}, "
                           "same_detail: true}}\n"
                           "- {{id: r, sign: reset, when: '!= 0', state: Healthy, code: R, "
                           "owner: Platform, sentence: R, because: R, clears: [reset]}}\n",
                           kind, count),
               "r.yaml")
        .status()
        .message();
  };
  EXPECT_EQ(fault("event", "count: 3, window: 1h, until: reset"), "");
  EXPECT_EQ(fault("event", "count: 3, window: 2m, until: reset"), "");
  EXPECT_THAT(fault("event", "count: 3, window: 90s, until: reset"),
              ::testing::HasSubstr("a minute apart"));
  EXPECT_THAT(fault("event", "until: reset"), ::testing::HasSubstr("same_detail"));
  EXPECT_THAT(fault("reading", "count: 3"), ::testing::HasSubstr("same_detail"));
}

TEST_F(SameDetail, WhatOneLinkFloodsTheOthersKeep) {
  Happen(track_, 0min, "link 1");
  Happen(track_, 1min, "link 1");
  // The last hits of each link are kept, however many others there were.
  for (int i = 0; i < 2; ++i) Happen(track_, i * 1min, "link 2");
  for (int i = 0; i < 5000; ++i) Happen(track_, 1min, "");
  Happen(track_, 2min, "link 1");
  EXPECT_TRUE(track_.finding());
}

}  // namespace
}  // namespace galen::probes
