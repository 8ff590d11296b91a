#include "probes/recording/rules_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rules/rule_reader.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Recordings of tests/replays: each has its rules, its steps and what is said of them.
TEST(RulesReplay, OfEachRecordingSaysWhatItSaidWhenItWasMade) {
  const RealSysfs files;
  const std::string root = GALEN_SOURCE_DIR "/tests/replays";
  const std::vector<std::string> names = *files.List(root);
  EXPECT_GE(names.size(), 8u);
  for (const std::string& name : names) {
    const std::string directory = root + "/" + name;
    const StatusOr<RuleTable> rules =
        ParseRules(files.Read(directory + "/rules.yaml").value(), name);
    ASSERT_TRUE(rules.ok()) << rules.status().message();
    const StatusOr<Replay> replay = ReplayRules(files, directory, *rules);
    ASSERT_TRUE(replay.ok()) << replay.status().message();
    const StatusOr<std::string> said = files.Read(directory + "/said.txt");
    EXPECT_EQ(ReplayText(*replay), said.ok() ? *said : "") << name;
  }
}

// A driver reads a slow sign every 10 s and sees no peak in between.
TEST(RulesReplay, ASignWithEveryIsReadAsSeldomAsADriverDoes) {
  const StatusOr<RuleTable> rules = ParseRules(
      "signs: [{name: heat, kind: reading, file: heat, every: 10s}]\n"
      "rules: [{id: hot, sign: heat, when: '> 90', state: Unhealthy, code: Hot, sentence: hot, "
      "owner: Hardware}]\n",
      "r.yaml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  FakeSysfs files;
  files.files["/r/0s/card/heat"] = "40\n";
  files.files["/r/4s/card/heat"] = "99\n";
  files.files["/r/8s/card/heat"] = "40\n";
  const StatusOr<Replay> peak = ReplayRules(files, "/r", *rules);
  ASSERT_TRUE(peak.ok()) << peak.status().message();
  EXPECT_EQ(ReplayText(*peak), "68s card Healthy\n");
  files.files["/r/8s/card/heat"] = "99\n";
  EXPECT_THAT(ReplayText(*ReplayRules(files, "/r", *rules)), HasSubstr("10s card hot began"));
}

TEST(RulesReplay, NotesWhatCountsForNothing) {
  const StatusOr<RuleTable> rules = ParseRules(
      "signs: [{name: heat, kind: reading}]\n"
      "rules: [{id: hot, sign: heat, when: '> 90', state: Unhealthy, code: Hot, sentence: hot, "
      "owner: Hardware}]\n",
      "r.yaml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  FakeSysfs files;
  files.files["/r/recording.yaml"] = "devices: {card: {path: ''}}\n";
  files.files["/r/0s/signs.json"] = R"([{"device": "card", "name": "heet", "value": 99},
      {"device": "card", "name": "heat", "value": 40}])";
  files.files["/r/0s/kernel.log"] = "6,1,1,-;mce: a record\n\nno record\n\n";
  const StatusOr<Replay> replay = ReplayRules(files, "/r", *rules);
  ASSERT_TRUE(replay.ok()) << replay.status().message();
  EXPECT_THAT(replay->notes, ElementsAre("/r/0s/signs.json: no rule knows the sign heet",
                                         HasSubstr("/r/0s/kernel.log: record 2 is passed over: ")));
  files.files["/r/0s/signs.json"] = R"([{"device": "card", "name": "heat"}])";
  EXPECT_THAT(ReplayRules(files, "/r", *rules).status().message(),
              HasSubstr("/r/0s/signs.json: sign 1: heat of card has no value"));
}

TEST(RulesReplay, NeedsStepsThatAreNamedByTheirTime) {
  const RuleTable rules;
  FakeSysfs files;
  files.files["/r/rules.yaml"] = "extends: pci\n";
  EXPECT_THAT(ReplayRules(files, "/r", rules).status().message(), HasSubstr("/r has no steps"));
  files.files["/r/soon/gpu/width"] = "1\n";
  EXPECT_THAT(ReplayRules(files, "/r", rules).status().message(), HasSubstr("/r/soon is no time"));
  EXPECT_EQ(ReplayRules(files, "/none", rules).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::probes
