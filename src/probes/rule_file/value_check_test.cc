#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

using ::testing::HasSubstr;

// The rule stands in line 15.
std::string FileOfOneRule(std::string_view sign, std::string_view when, std::string_view more) {
  return fmt::format(
      "signs:\n"
      "- {{name: heat, kind: reading, unit: °C, least: -40, most: 150}}\n"
      "- {{name: lanes, kind: reading, among: [0, 1, 4, 16]}}\n"
      "- {{name: reset, kind: event, among: [gpu, host]}}\n"
      "- {{name: xid, kind: event, least: 1, most: 999, whole: true}}\n"
      "- {{name: note, kind: event}}\n"
      "- {{name: free, kind: reading}}\n"
      "- {{name: link, kind: reading, unit: Mb/s}}\n"
      "- {{name: present, kind: reading}}\n- {{name: fan, kind: reading, command: [/fan]}}\n"
      "- {{name: pump, kind: reading, command: [/pump], output: json}}\n"
      "- {{name: state, kind: reading, file: state, words: {{live: 0, up: 0, dead: 4}}}}\n"
      "rules:\n"
      "- {{id: again, sign: reset, when: == host, state: Healthy, code: A, sentence: a, owner: "
      "Platform, clears: [reboot]}}\n"
      "- {{id: x, sign: {}, {}when: '{}', state: Unhealthy, code: X, sentence: x, owner: "
      "Hardware}}\n",
      sign, more, when);
}

std::string FaultOf(std::string_view sign, std::string_view when, std::string_view more = "") {
  const StatusOr<RuleTable> table = ParseRules(FileOfOneRule(sign, when, more), "r.yaml");
  return table.ok() ? "" : std::string(table.status().message());
}

constexpr std::string_view kEvent = "until: reboot, ";

TEST(ValueCheck, ANumberOutOfWhatTheSignCanBeIsNamedWithItsPlace) {
  EXPECT_EQ(FaultOf("heat", "> 151"),
            "r.yaml:15:23: x: when compares with 151, but heat is a number from -40 to 150");
  EXPECT_THAT(FaultOf("heat", "> 150"), HasSubstr("when compares with 150")) << "never holds";
  EXPECT_THAT(FaultOf("heat", "<= -41 °C"), HasSubstr("when compares with -41"));
  EXPECT_THAT(FaultOf("heat", "< -40"), HasSubstr("when compares with -40"));
  EXPECT_THAT(FaultOf("heat", "> -41"), HasSubstr("when compares with -41")) << "always holds";
  for (const char* when : {"> 149", ">= 150", "<= -40", "< 150", "> -40", "== 150", "!= 85"}) {
    EXPECT_EQ(FaultOf("heat", when), "") << when;
  }
  EXPECT_EQ(FaultOf("free", "> 1e9"), "") << "nothing is said of it";
}

TEST(ValueCheck, OfAFewValuesAnotherOneIsNamed) {
  EXPECT_THAT(FaultOf("lanes", "== 2"),
              HasSubstr("when compares with 2, but lanes is 0, 1, 4 or 16"));
  EXPECT_THAT(FaultOf("lanes", "< 0"), HasSubstr("when compares with 0"));
  EXPECT_THAT(FaultOf("lanes", "> 16"), HasSubstr("when compares with 16"));
  EXPECT_THAT(FaultOf("lanes", "== none"), HasSubstr("compares with the text 'none'"));
  EXPECT_THAT(FaultOf("reset", "== gpus", kEvent),
              HasSubstr("when compares with the text 'gpus', but reset is gpu or host"));
  EXPECT_THAT(FaultOf("reset", "== gpu °C", kEvent), HasSubstr("the text 'gpu °C'"));
  EXPECT_THAT(FaultOf("reset", "> 3", kEvent), HasSubstr("compares with 3, but reset is gpu"));
  EXPECT_EQ(FaultOf("lanes", "< 8"), "");
  EXPECT_EQ(FaultOf("lanes", "== 4"), "");
  EXPECT_EQ(FaultOf("reset", "!= gpu", kEvent), "");
  EXPECT_EQ(FaultOf("xid", "!= 0", kEvent), "") << "whenever it happens";
  EXPECT_EQ(FaultOf("note", "== anything at all", kEvent), "");
}

TEST(ValueCheck, ANumberThatIsComparedWithATextIsNamed) {
  EXPECT_THAT(FaultOf("heat", "== warm"),
              HasSubstr("compares with the text 'warm', but heat is a number from -40 to 150"));
  EXPECT_THAT(FaultOf("link", "== 85Mb/s"), HasSubstr("its unit has a blank before it"));
  EXPECT_EQ(FaultOf("free", "== up"), "");
}

// A broken fan stayed Healthy by each of these.
TEST(ValueCheck, WhatACommandAnswersIsZeroOrOneUnlessItIsJson) {
  EXPECT_THAT(FaultOf("fan", "== FAIL"), HasSubstr("the text 'FAIL', but fan is 0 or 1"));
  EXPECT_THAT(FaultOf("fan", "== 2"), HasSubstr("compares with 2, but fan is 0 or 1"));
  EXPECT_THAT(FaultOf("fan", "> 1"), HasSubstr("compares with 1"));
  EXPECT_THAT(FaultOf("pump", "== FAIL"), HasSubstr("the text 'FAIL', but pump is a number"));
  EXPECT_EQ(FaultOf("pump", "== 2"), "");
  EXPECT_EQ(FaultOf("fan", "== 1"), "");
}

TEST(ValueCheck, WhatIsThereOrNotAndWhatHasWordsIsOneOfTheirNumbers) {
  EXPECT_THAT(FaultOf("present", "== zero"), HasSubstr("the text 'zero', but present is 0 or 1"));
  EXPECT_THAT(FaultOf("state", "== 9"), HasSubstr("compares with 9, but state is 0 or 4"));
  EXPECT_THAT(FaultOf("state", "== dead"), HasSubstr("the word 'dead' is its number 4"));
  EXPECT_EQ(FaultOf("present", "== 0"), "");
  EXPECT_EQ(FaultOf("state", ">= 4"), "");
}

TEST(ValueCheck, AFaultsNumberThatTheSignNeverHasIsNamed) {
  EXPECT_THAT(FaultOf("xid", "in 79, 990-1000", kEvent),
              HasSubstr("when lists 990-1000, but xid is a whole number from 1 to 999"));
  EXPECT_THAT(FaultOf("xid", "in 0", kEvent), HasSubstr("when lists 0"));
  EXPECT_THAT(FaultOf("xid", "== 7.5", kEvent), HasSubstr("compares with 7.5"));
  EXPECT_THAT(FaultOf("reset", "in 1-3", kEvent), HasSubstr("lists 1-3, but reset is gpu"));
  EXPECT_EQ(FaultOf("xid", "in 1-999", kEvent), "");
}

TEST(ValueCheck, TheThresholdToLeaveIsReadAsTheOneToEnter) {
  const StatusOr<RuleTable> table =
      ParseRules(FileOfOneRule("heat", "> 85 °C", "leave: 82 °C, "), "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->rules[1].leave, 82.0);
  EXPECT_EQ(FaultOf("heat", "> 85", "leave: 82 °F, "),
            "r.yaml:15:23: x: leave compares in '°F', but heat is in °C");
  EXPECT_THAT(FaultOf("heat", "> 85", "leave: 82°C, "), HasSubstr("leave is not a number like 82"));
  EXPECT_THAT(FaultOf("heat", "> 85", "leave: -41, "),
              HasSubstr("leave is -41, but heat is a number from -40 to 150"));
  EXPECT_EQ(FaultOf("free", "< 90 % of peers", "leave: 95 % of peers, "), "");
  EXPECT_EQ(FaultOf("free", "< 90 % of peers", "leave: 95, "), "");
  EXPECT_THAT(FaultOf("heat", "< 90 % of peers", "leave: 95 °C, "),
              HasSubstr("leave is in '°C', but `when` in per cent of peers"));
  EXPECT_THAT(FaultOf("heat", "> 85", "leave: 70 % of peers, "),
              HasSubstr("leave compares in '% of peers'"));
}

TEST(ValueCheck, AConditionIsHeldAgainstItsSignToo) {
  EXPECT_THAT(FaultOf("free", "> 1", "while: heat > 200 °C, "),
              HasSubstr("while compares with 200, but heat is a number from -40 to 150"));
  EXPECT_EQ(FaultOf("free", "> 1", "while: heat > 20 °C, "), "");
}

// Whoever wrote one thing wrongly is told one thing.
TEST(RuleFaults, OneMistakeIsOneComplaint) {
  EXPECT_EQ(FaultOf("heat", "> 85°C"),
            "r.yaml:15:23: x: when '85°C' is not a number: expected \"> 85\", \"> 85 °C\", "
            "\"== down\", \"< expected\", \"< baseline\", \"< 90 % of peers\", \"in 13, 31-33\", "
            "\"rises > 10 in 60s\", \"any of 0x60\", \"all of 0x3\", \"none of 0x1\" or \"other\"");
  const auto count = [](std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.rfind(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    const Status status = ParseRules(text, "r.yaml").status();
    EXPECT_FALSE(status.ok()) << to;
    const std::string_view message = status.message();
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << message;
  };
  const std::string reading = FileOfOneRule("heat", "> 85", "leave: 82, ");
  const std::string event = FileOfOneRule("xid", "in 79", kEvent);
  count(reading, "state: Unhealthy", "state: unhealthy");
  count(reading, "'> 85'", "'> hot'");
  count(reading, "state: Unhealthy", "state: Degraded, share: half");
  count(reading, "name: heat, kind: reading", "name: heat, kind: readin");
  count(event, "state: Unhealthy", "state: unhealthy");
  count(event, "until: reboot", "until: later");
  count(event, "'in 79', ", "'in 79', count: 2, window: soon, ");
  count(event, "clears: [reboot]", "clears: reboot");
  count(event, "name: xid, kind: event", "name: xid, kind: even");
  count("extends: pci\n" + event.substr(event.find("rules:")), "pci\n", "pcie\n");
}

// What everybody writes first. As a text it would match never, or with "!=" always.
TEST(ValueCheck, AWordOfAFileIsItsNumber) {
  const auto fault = [](std::string_view sign, std::string_view when) {
    const auto table = ParseRules(
        fmt::format("signs:\n"
                    "- {{name: status, kind: reading, file: status, words: {{ok: 0, dead: 1}}}}\n"
                    "- {{name: lost, kind: counter, file: lost}}\n"
                    "rules:\n"
                    "- {{id: x, sign: {}, when: '{}', state: Unhealthy, code: X, sentence: x, "
                    "owner: Hardware}}\n",
                    sign, when),
        "r.yaml");
    return table.ok() ? std::string() : std::string(table.status().message());
  };
  EXPECT_THAT(fault("status", "== dead"), HasSubstr("the word 'dead' is its number 1"));
  EXPECT_THAT(fault("status", "!= ok"), HasSubstr("the word 'ok' is its number 0"));
  EXPECT_EQ(fault("status", "== 1"), "");
  EXPECT_THAT(fault("lost", "!= O"), HasSubstr("compares with the text 'O'"));
}

}  // namespace
}  // namespace galen::probes
