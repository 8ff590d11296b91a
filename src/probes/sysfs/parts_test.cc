// Counters that are made of several files, of which some come and go while their device stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"
#include "probes/sysfs/device_signs.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPortRules = R"(
signs:
- {name: sum, kind: counter, file: "p*/errors", several: sum}
- {name: highest, kind: counter, file: "p*/errors", several: highest}
- {name: lowest, kind: counter, file: "p*/errors", several: lowest}
- {name: first, kind: counter, file: "p*/errors", several: first}
rules:
- {id: sum, sign: sum, when: rises > 100 in 5m, state: Degraded, share: 1, code: Many,
   owner: Hardware, sentence: "{value} errors"}
- {id: highest, sign: highest, when: rises > 100 in 5m, state: Degraded, share: 1, code: Many,
   owner: Hardware, sentence: "{value} errors"}
- {id: lowest, sign: lowest, when: rises > 100 in 5m, state: Degraded, share: 1, code: Many,
   owner: Hardware, sentence: "{value} errors"}
- {id: first, sign: first, when: rises > 100 in 5m, state: Degraded, share: 1, code: Many,
   owner: Hardware, sentence: "{value} errors"}
)";

class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    engine_.SetDevices({"card0"}, At());
    Put("p1", "10");
    Put("p2", "500");
    Look();
  }

  Instant At() const { return {Time(now_), WallTime(now_)}; }
  void Put(const std::string& port, const std::string& errors) {
    files_.files["/card0/" + port + "/errors"] = errors + "\n";
  }
  void Remove(const std::string& port) { files_.RemoveTree("/card0/" + port); }
  // A look at the device, ten seconds later; the ids of rules that have found something.
  std::vector<std::string> Look() {
    now_ += 10s;
    std::vector<Sign> signs;
    device_.Take(LookAtDevice(files_, "/card0", WithFiles(table_.signs),
                              [](const std::string&, const std::string&) {}),
                 At(), signs);
    engine_.Evaluate(signs, At());
    std::vector<std::string> found;
    for (const auto& [rule, finding] : engine_.Findings("card0")) found.push_back(rule);
    return found;
  }
  DeviceHealth Health() const { return engine_.Snapshot()[0]; }

  FakeSysfs files_;
  Duration now_ = 1h;
  const RuleTable table_ = ParseRules(kPortRules, "test").value();
  RuleEngine engine_{table_, {}};
  DeviceSigns device_{table_, {"card0", "card0"}};
};

TEST_F(PartsTest, APartThatIsAwayForALookBringsNoBurstOfErrors) {
  for (const std::string port : {"p1", "p2"}) {
    Remove(port);
    EXPECT_THAT(Look(), testing::IsEmpty());
    EXPECT_EQ(Health().state, HealthState::kHealthy) << "it was removed";
    Put("p1", "10");
    Put("p2", "500");
    EXPECT_THAT(Look(), testing::IsEmpty());
    EXPECT_EQ(Health().state, HealthState::kHealthy);
  }
  Put("p2", "601");
  EXPECT_THAT(Look(), testing::ElementsAre("sum", "highest")) << "new ones count";
}

TEST_F(PartsTest, APartWhoseFileHasNoNumberIsMissedLikewise) {
  Put("p2", "N/A");
  Look();
  EXPECT_EQ(Health().state, HealthState::kUnknown);
  EXPECT_EQ(Health().cause.message,
            "cannot read sum: p2/errors, which it added up, has no value now");
  Put("p2", "500");
  EXPECT_THAT(Look(), testing::IsEmpty());
}

TEST_F(PartsTest, APartThatWasRemovedForGoodLeavesNobodyUnknown) {
  Put("p2", "N/A");
  Look();
  Remove("p2");
  EXPECT_THAT(Look(), testing::IsEmpty());
  EXPECT_EQ(Health().state, HealthState::kHealthy) << "what it had stays in the sum";
  Put("p1", "111");
  EXPECT_THAT(Look(), testing::Contains("sum")) << "101 more than before, of the one that is left";
}

TEST_F(PartsTest, WhatWasCountedBeforeAPartWasRemovedStillCounts) {
  Put("p1", "70");
  EXPECT_THAT(Look(), testing::IsEmpty());
  Remove("p2");
  EXPECT_THAT(Look(), testing::IsEmpty());
  Put("p1", "111");
  EXPECT_THAT(Look(), testing::ElementsAre("sum", "first")) << "60 and 41 within five minutes";
}

TEST_F(PartsTest, AnotherPartOfTheNameOfOneThatWasRemovedBringsNoRise) {
  Remove("p2");
  Look();
  Put("p2", "90000");
  EXPECT_THAT(Look(), testing::IsEmpty());
  Put("p2", "90101");
  EXPECT_THAT(Look(), testing::Contains("sum"));
}

TEST_F(PartsTest, PartsThatComeAndGoWithoutEndTakeNoRoomWithoutEnd) {
  for (int i = 0; i < 1000; ++i) {
    Put("q" + std::to_string(i), "1");
    Put("p3", std::to_string(i));
    Look();
    Remove("q" + std::to_string(i));
  }
  EXPECT_EQ(Health().state, HealthState::kHealthy);
}

TEST_F(PartsTest, WhatANewPartCountedBeforeIsNoRise) {
  Put("p0", "900");
  EXPECT_THAT(Look(), testing::IsEmpty());
  EXPECT_EQ(Health().state, HealthState::kHealthy);
  Put("p0", "1001");
  EXPECT_THAT(Look(), testing::ElementsAre("sum", "highest", "first"));
}

TEST_F(PartsTest, PartsThatAllHaveOtherNamesAreAnotherSum) {
  Remove("p1");
  Remove("p2");
  Put("p3", "10");
  Put("p4", "5000");
  EXPECT_THAT(Look(), testing::IsEmpty());
  EXPECT_EQ(Health().state, HealthState::kHealthy);
}

}  // namespace
}  // namespace galen::probes
