// Rules that are well formed and cannot mean what they say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rule_file/test_faults.h"

namespace galen::probes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What is wrong with a file of one rule: of the reading `heat`, or of another sign that `fields`
// names. "": nothing.
std::string WordFault(std::string_view fields, std::string_view sign = "heat",
                      std::string_view signs = "") {
  const bool defaults = sign == "xid";
  const StatusOr<RuleTable> table = ParseRules(
      fmt::format("signs:\n- {{name: heat, kind: reading, file: heat}}\n- {{name: xid, kind: "
                  "event}}\n{}{}rules:\n- {{id: r, sign: {}, when: '== 1', code: C, owner: "
                  "Hardware, {}}}\n",
                  signs,
                  defaults ? "defaults:\n  xid: {because: known, share: 0.5, until: 10m}\n" : "",
                  sign, fields),
      "r.yaml");
  return table.ok() ? "" : WithoutColumns(table.status().message());
}

TEST(WordCheck, ASentenceSaysSomething) {
  EXPECT_EQ(WordFault("state: Unhealthy, sentence: hot"), "");
  EXPECT_THAT(WordFault("state: Unhealthy, sentence: ' '"), HasSubstr("r: sentence is empty"));
  EXPECT_THAT(WordFault("state: Unhealthy, sentence: '{text}'"), HasSubstr("has no `text`"));
  EXPECT_THAT(WordFault("state: Unhealthy, sentence: hot, text: warm"), HasSubstr("shown nowhere"));
}

TEST(WordCheck, OnlyADegradedDeviceHasAShare) {
  EXPECT_EQ(WordFault("state: Degraded, share: 0.5, sentence: '{share} heat'"), "");
  EXPECT_THAT(WordFault("state: Unhealthy, share: 0.5, sentence: hot"),
              HasSubstr("r: share is for a Degraded device"));
  EXPECT_THAT(WordFault("state: Unhealthy, sentence: '{share} heat'"),
              HasSubstr("sentence has {share}"));
}

TEST(WordCheck, OnlyARuleThatChangesNothingSaysWhy) {
  EXPECT_EQ(WordFault("state: Healthy, because: known, sentence: x", "xid"), "");
  EXPECT_THAT(WordFault("state: Unhealthy, because: known, sentence: hot"),
              HasSubstr("r: because is for a Healthy rule"));
}

TEST(WordCheck, DefaultsThatAStateHasNoUseForAreLeftOut) {
  EXPECT_EQ(WordFault("state: Unhealthy, sentence: x", "xid"), "");
  EXPECT_EQ(WordFault("state: Healthy, sentence: x", "xid"), "") << "because is the default's";
}

TEST(WordCheck, OnlyAnEventClearsOtherFindings) {
  EXPECT_EQ(WordFault("state: Healthy, clears: [reset], sentence: x", "xid"), "");
  EXPECT_THAT(WordFault("state: Unhealthy, clears: [reset], sentence: hot"),
              HasSubstr("r: clears is done by what happens"));
}

TEST(WordCheck, ATimePastAMonthIsASlip) {
  EXPECT_EQ(WordFault("state: Unhealthy, sentence: hot, enter_for: 744h"), "");
  EXPECT_THAT(WordFault("state: Unhealthy, sentence: hot, enter_for: 2000000h"),
              HasSubstr("r: enter_for is past 31 days"));
  EXPECT_THAT(WordFault("state: Unhealthy, sentence: x, until: 2000000h", "xid"),
              HasSubstr("r: until is past 31 days"));
}

TEST(WordCheck, AMetricsNameHasNoLabelsInIt) {
  const auto named = [](const char* metric) {
    return WordFault(
        "state: Unhealthy, sentence: hot", "heat",
        fmt::format("- {{name: fan, kind: reading, exporter: e, metric: '{}'}}\n", metric));
  };
  EXPECT_THAT(named("acme fan"), HasSubstr("fan: metric is no name of a metric"));
  EXPECT_THAT(named("fan{pci=1}"), HasSubstr("fan: metric is no name of a metric"));
  EXPECT_THAT(named("acme_fan"), Not(HasSubstr("metric")));
}

// Nothing is missed where it is misspelt: it has no file.
TEST(WordCheck, ASignWithoutASourceIsNoMisspeltOneThatDriversShow) {
  const auto named = [](const char* sign) {
    return WordFault("state: Unhealthy, sentence: gone", "heat", sign);
  };
  EXPECT_EQ(named("- {name: present, kind: reading}\n"), "");
  EXPECT_EQ(named("- {name: power, kind: reading}\n"), "");
  EXPECT_EQ(named("- {name: presnt, kind: reading, file: presnt}\n"), "");
  EXPECT_THAT(named("- {name: presnt, kind: reading}\n"), HasSubstr("is it `present`"));
}

}  // namespace
}  // namespace galen::probes
