#include "probes/recording/rules_replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/recording/recording.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

TEST(RulesReplay, CountsWhatWasTried) {
  const StatusOr<RuleTable> rules = ParseRules(
      "signs: [{name: heat, kind: reading, file: heat}, {name: power, kind: reading},\n"
      "        {name: present, kind: reading}]\n"
      "rules: [{id: hot, sign: heat, when: '> 90', state: Unhealthy, code: Hot, sentence: hot, "
      "owner: Hardware},\n"
      "        {id: gone, sign: present, when: '== 0', state: Unhealthy, code: Gone, sentence: "
      "gone, "
      "owner: Hardware}]\n",
      "r.yaml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  FakeSysfs files;
  files.files["/r/recording.yaml"] = "devices: {card: {path: ''}}\n";
  const auto tried = [&](const std::string& file, const std::string& text) {
    files.files["/r/0s/" + file] = text;
    const StatusOr<Replay> replay = ReplayRules(files, "/r", *rules);
    files.files.erase("/r/0s/" + file);
    return replay.ok() ? replay->tried : 99;
  };
  EXPECT_EQ(tried("signs.json", R"([{"device": "card", "name": "power", "value": 1}])"), 0u);
  EXPECT_EQ(tried("signs.json", R"([{"device": "crad", "name": "heat", "value": 1}])"), 0u);
  EXPECT_EQ(tried("signs.json", R"([{"device": "card", "name": "heat", "value": 1}])"), 1u);
  EXPECT_EQ(tried("other/temp", "1\n"), 0u) << "that it is there tries no rule";
  files.files["/r/10s/signs.json"] = "[]";
  EXPECT_EQ(tried("other/temp", "1\n"), 1u) << "that it is gone does";
  files.files.erase("/r/10s/signs.json");
  EXPECT_EQ(tried("other/heat", "1\n"), 1u);
}

TEST(RulesReplay, AFileThatNoDeviceOfTheRecordingHasIsNotedWithTheRulesThatLookAtIt) {
  const StatusOr<RuleTable> rules = ParseRules(
      "signs: [{name: heat, kind: reading, file: heet}, {name: load, kind: reading, file: load}]\n"
      "rules: [{id: hot, sign: heat, while: load > 1, when: '> 90', state: Unhealthy, code: Hot,\n"
      "  sentence: hot, owner: Hardware}]\n",
      "r.yaml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  FakeSysfs files;
  files.files["/r/0s/card/load"] = "40\n";
  EXPECT_THAT(ReplayRules(files, "/r", *rules)->notes,
              ElementsAre("no device of the recording shows the sign heat, which rule hot looks "
                          "at: looked for file heet"));
  files.files["/r/4s/card/heet"] = "40\n";
  files.files["/r/4s/card/load"] = "40\n";
  EXPECT_THAT(ReplayRules(files, "/r", *rules)->notes, ElementsAre());
}

TEST(RulesReplay, ManyNotesAreCounted) {
  FakeSysfs files;
  for (int i = 0; i < 60; ++i) files.files[fmt::format("/r/0s/card/file{}", i)] = "1\n";
  const StatusOr<Replay> replay = ReplayRules(files, "/r", RuleTable());
  ASSERT_TRUE(replay.ok()) << replay.status().message();
  ASSERT_EQ(replay->notes.size(), kReplayNotesMax + 1);
  EXPECT_EQ(replay->notes.back(), "and 10 more");
}

TEST(RulesReplay, NeedsStepsThatAreNamedByTheirTime) {
  const RuleTable rules;
  FakeSysfs files;
  files.files["/r/rules.yaml"] = "extends: pci\n";
  EXPECT_THAT(ReplayRules(files, "/r", rules).status().message(), HasSubstr("/r has no steps"));
  files.files["/r/soon/gpu/width"] = "1\n";
  EXPECT_THAT(ReplayRules(files, "/r", rules).status().message(),
              HasSubstr("/r/soon is not a time"));
  EXPECT_EQ(ReplayRules(files, "/none", rules).status().code(), Code::kNotFound);
}

// A table with a sign of each kind, and a recording that a test makes step by step.
constexpr std::string_view kPlayedRules = R"(
signs:
- {name: heat, kind: reading, file: heat}
- {name: power, kind: reading}
- {name: xid, kind: event}
- {name: reset, kind: event}
- {name: fan, kind: reading, unit: rpm}
- {name: stall, kind: event, unit: turns}
- {name: dead, kind: event, driver: nvme, subsystem: nvme, line: Disabling device}
rules:
- {id: hot, sign: heat, when: "> 90", state: Unhealthy, code: Hot, owner: Hardware,
   sentence: "{value} °C"}
- {id: thirsty, sign: power, when: "> 700", state: Degraded, share: 1, code: Power,
   owner: Platform, sentence: "{value} W"}
- {id: often, sign: xid, when: "== 63", count: 2, window: 10s, state: Degraded, share: 1,
   code: Often, owner: Hardware, until: reset, sentence: "twice"}
- {id: lost, sign: xid, when: "== 79", state: Unhealthy, code: Lost, owner: Hardware, until: reset,
   sentence: "off the bus", supersedes: [often]}
- {id: dead, sign: dead, when: == 1, state: Unhealthy, code: Dead, owner: Hardware, until: reset,
   sentence: dead}
- {id: slow, sign: fan, when: "< 100", state: Unhealthy, code: Slow, owner: Hardware,
   sentence: "{value} {unit}"}
- {id: stalled, sign: stall, when: "> 0", state: Unhealthy, code: Stall, owner: Hardware,
   until: reset, sentence: "{value} {unit}"}
- {id: back, sign: reset, when: == device, state: Healthy, code: Back, owner: Platform,
   sentence: back, clears: [reset]}
)";

class PlayedTest : public ::testing::Test {
 protected:
  void Put(const std::string& step, const std::string& file, const std::string& text) {
    files_.files["/r/" + step + "/" + file] = text;
  }
  void PutSigns(const std::string& step, const std::vector<Sign>& signs) {
    Put(step, "signs.json", WriteSigns(signs));
  }
  void PutDevices(const std::vector<RecordedDevice>& devices) {
    files_.files["/r/recording.yaml"] = WriteRecordedDevices(devices);
  }
  StatusOr<Replay> Play() { return ReplayRules(files_, "/r", rules_); }
  std::vector<std::string> Said() {
    const StatusOr<Replay> replay = Play();
    EXPECT_TRUE(replay.ok()) << replay.status().message();
    std::vector<std::string> lines;
    std::string text = replay.ok() ? ReplayText(*replay) : "";
    for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      lines.push_back(text.substr(0, end));
    }
    return lines;
  }
  static Sign Xid(double number) {
    return {.device = "gpu-0", .name = "xid", .value = number, .raw = "nvml"};
  }

  const RuleTable rules_ = ParseRules(kPlayedRules, "played.yaml").value();
  FakeSysfs files_;
};

TEST_F(PlayedTest, AReadingThatIsNoFileStandsUntilTheNextOne) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {{.device = "gpu-0", .name = "power", .value = 650.0}});
  PutSigns("10s", {{.device = "gpu-0", .name = "power", .value = 710.0}});
  PutSigns("30s", {{.device = "gpu-0", .name = "power", .value = 640.0}});
  EXPECT_THAT(Said(), ElementsAre("10s gpu-0 thirsty began, Degraded: 710 W",
                                  "30s gpu-0 thirsty ended", "90s gpu-0 Healthy"));
}

TEST_F(PlayedTest, AnotherSignOfTheDeviceDoesNotEndWhatAReadingShows) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {{.device = "gpu-0", .name = "power", .value = 710.0}});
  PutSigns("20s", {Xid(1)});
  EXPECT_THAT(Said(),
              ElementsAre("0s gpu-0 thirsty began, Degraded: 710 W", "80s gpu-0 Degraded: 710 W"));
}

TEST_F(PlayedTest, AnEventHappensOnceHoweverLongItsStepLasts) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {Xid(63)});
  EXPECT_THAT(Said(), ElementsAre("60s gpu-0 Unknown: nothing was read from this device yet"));
  PutSigns("8s", {Xid(63)});
  EXPECT_THAT(Said().front(), "8s gpu-0 often began, Degraded: twice");
}

TEST_F(PlayedTest, EventsThatAreFurtherApartThanTheWindowAreNotCountedTogether) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {Xid(63)});
  PutSigns("12s", {Xid(63)});
  EXPECT_THAT(Said(), Not(Contains(HasSubstr("often"))));
}

TEST_F(PlayedTest, OfSeveralStepsBetweenTwoLooksNoEventIsLost) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {{.device = "gpu-0", .name = "power", .value = 100.0}});
  PutSigns("100ms", {Xid(63)});
  PutSigns("200ms", {Xid(63)});
  PutSigns("300ms", {Xid(79)});
  const std::vector<std::string> said = Said();
  EXPECT_THAT(said, ElementsAre("2s gpu-0 often began, Degraded: twice",
                                "2s gpu-0 often superseded by lost",
                                "2s gpu-0 lost began, Unhealthy: off the bus",
                                "60.3s gpu-0 Unhealthy: off the bus"));
}

TEST_F(PlayedTest, WhatTheKernelSaysOfADeviceThatIsBackIsNotOverByItsReturn) {
  PutDevices({{.name = "nvme0", .path = "class/nvme/nvme0", .kernel_names = {"nvme:nvme0"}}});
  const std::string line =
      "4,7,1,-;nvme nvme0: Disabling device\n SUBSYSTEM=nvme\n DEVICE=+nvme:nvme0\n";
  Put("0s", "nvme0/heat", "40\n");
  Put("4s", "kernel.log", line);  // as it leaves
  Put("10s", "signs.json", "[]");
  Put("20s", "nvme0/heat", "40\n");
  EXPECT_THAT(Said().back(), "80s nvme0 Healthy");
  Put("20s", "kernel.log", line);  // before anybody has seen it back
  EXPECT_THAT(Said().back(), "80s nvme0 Unhealthy: dead");
}

TEST_F(PlayedTest, WhatHoldsUntilAResetEndsWithOne) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {{.device = "gpu-0", .name = "power", .value = 100.0}, Xid(79)});
  PutSigns("20s", {{.device = "gpu-0", .name = "reset", .value = "device"}});
  EXPECT_THAT(Said(), ElementsAre("0s gpu-0 lost began, Unhealthy: off the bus",
                                  "20s gpu-0 lost ended", "80s gpu-0 Healthy"));
}

TEST_F(PlayedTest, ADeviceWhoseFilesAreGoneIsUnknownAndIsKnownAgainWhenTheyAreBack) {
  Put("0s", "card/heat", "40\n");
  Put("0s", "other/heat", "40\n");
  Put("10s", "other/heat", "40\n");
  Put("20s", "card/heat", "41\n");
  Put("20s", "other/heat", "40\n");
  const StatusOr<Replay> replay = Play();
  ASSERT_TRUE(replay.ok());
  ASSERT_EQ(replay->events.size(), 2u) << ReplayText(*replay);
  for (const ReplayEvent& event : replay->events) {
    EXPECT_EQ(event.device, "card");
    EXPECT_EQ(event.rule, "");
  }
  EXPECT_EQ(replay->events[0].at, 10s);
  EXPECT_EQ(replay->events[0].state, HealthState::kUnknown);
  EXPECT_EQ(replay->events[1].at, 20s);
  EXPECT_EQ(replay->events[1].state, HealthState::kHealthy);
}

TEST_F(PlayedTest, AFileThatCannotBeReadMakesItsDeviceUnknownAndNoOther) {
  Put("0s", "card/heat", "40\n");
  Put("0s", "other/heat", "95\n");
  files_.errors["/r/0s/card/heat"] = Unavailable("I/O error");
  const StatusOr<Replay> replay = Play();
  ASSERT_TRUE(replay.ok());
  ASSERT_EQ(replay->end.size(), 2u);
  EXPECT_EQ(replay->end[0].id.device, "card");
  EXPECT_EQ(replay->end[0].state, HealthState::kUnknown);
  EXPECT_EQ(replay->end[1].state, HealthState::kUnhealthy);
}

TEST_F(PlayedTest, TheRecordingLastsAMinuteLongerThanItsLastStep) {
  Put("1m", "card/heat", "40\n");
  Put("2m", "card/heat", "95\n");
  const StatusOr<Replay> replay = Play();
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->length, 3min);
  EXPECT_THAT(Said(),
              ElementsAre("120s card hot began, Unhealthy: 95 °C", "180s card Unhealthy: 95 °C"));
}

TEST_F(PlayedTest, StepsArePlayedInOrderOfTimeAndNotOfName) {
  Put("100s", "card/heat", "95\n");
  Put("20s", "card/heat", "40\n");
  Put("3s", "card/heat", "95\n");
  EXPECT_THAT(Said(),
              ElementsAre("3s card hot began, Unhealthy: 95 °C", "21s card hot ended",
                          "101s card hot began, Unhealthy: 95 °C", "160s card Unhealthy: 95 °C"));
}

TEST_F(PlayedTest, TheKernelsLogIsReadForTheDevicesThatItNames) {
  PutDevices({{.name = "nvme0", .kernel_names = {"nvme:nvme0"}},
              {.name = "nvme1", .kernel_names = {"nvme:nvme1"}}});
  Put("0s", "kernel.log", "");
  Put("10s", "kernel.log",
      "3,7,100,-;nvme nvme1: Disabling device after reset failure: -19\n"
      " SUBSYSTEM=nvme\n DEVICE=+nvme:nvme1\n\n"
      "no record at all\n\n"
      "3,8,101,-;nvme nvme7: Disabling device after reset failure: -19\n"
      " SUBSYSTEM=nvme\n DEVICE=+nvme:nvme7\n\n");
  EXPECT_THAT(Said(), Contains("10s nvme1 dead began, Unhealthy: dead"));
  EXPECT_THAT(Said(), Not(Contains(StartsWith("10s nvme0"))));
  EXPECT_THAT(Said(), Not(Contains(HasSubstr("nvme7"))));
}

TEST_F(PlayedTest, SignsOfADeviceThatNothingNamesAreNoted) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {{.device = "gqu-0", .name = "power", .value = 1.0}, Xid(1)});
  EXPECT_THAT(Play()->notes, ElementsAre("signs of gqu-0 are passed over: neither recording.yaml "
                                         "nor a directory names it; write `devices: {gqu-0: {}}` "
                                         "into recording.yaml"));
}

TEST_F(PlayedTest, ASentenceHasTheTablesUnitWhereTheRecordingHasNone) {
  PutDevices({{.name = "gpu-0"}});
  PutSigns("0s", {{.device = "gpu-0", .name = "fan", .value = 10.0},
                  {.device = "gpu-0", .name = "stall", .value = 3.0}});
  EXPECT_THAT(Said(), Contains("0s gpu-0 slow began, Unhealthy: 10 rpm"));
  EXPECT_THAT(Said(), Contains("0s gpu-0 stalled began, Unhealthy: 3 turns"));
}

TEST_F(PlayedTest, WhatIsBrokenIsNamedByItsFile) {
  Put("0s", "card/heat", "40\n");
  Put("0s", "signs.json", "{}");
  EXPECT_EQ(Play().status(), InvalidArgument("/r/0s/signs.json: is not a list of signs"));
  files_.files.erase("/r/0s/signs.json");
  files_.files["/r/recording.yaml"] = "devices: [a]\n";
  EXPECT_EQ(Play().status(), InvalidArgument("/r/recording.yaml: names no devices"));
  files_.errors["/r/recording.yaml"] = PermissionDenied("not yours");
  EXPECT_EQ(Play().status().code(), Code::kPermissionDenied) << "not taken for one without a list";
}

TEST_F(PlayedTest, ARecordingOfMoreThanADayIsRefused) {
  Put("24h", "card/heat", "40\n");
  EXPECT_TRUE(Play().ok());
  Put("24h1s", "card/heat", "40\n");
  EXPECT_THAT(Play().status().message(), HasSubstr("/r/24h1s is not a time up to 24h"));
}

}  // namespace
}  // namespace galen::probes
