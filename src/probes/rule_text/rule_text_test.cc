#include "probes/rule_text/rule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

TEST(RuleText, OfAMatchIsReadBackAsTheSameMatch) {
  for (const char* text :
       {"> 85", ">= 0.5", "< expected", "<= 3", "== down", "!= 0", "< baseline", "in 13, 31-33",
        "rises > 10 in 1h30m", "rises > 0 in 250ms", "rises > 5 in 24h", "other"}) {
    EXPECT_EQ(MatchText(*ParseMatch(text)), text);
  }
}

TEST(RuleText, ExplainsARuleByWhatItReadsAndWhatEndsIt) {
  const RuleTable table = *ParseRules(kPciRules, "pci");
  EXPECT_EQ(ExplainRule(*table.FindRule("link-width-reduced"), table),
            "link-width-reduced: Degraded, PcieWidthReduced, share by the ratio\n"
            "  reads  current_link_width; expected: max_link_width\n"
            "  when   link-width < expected, for 4s\n"
            "  ends   no longer so for 4s\n"
            "  says   PCIe link at {value} of {expected} lanes: {share} bandwidth\n");
  EXPECT_THAT(ExplainRule(*table.FindRule("pcie-fatal"), table),
              ::testing::HasSubstr("  reads  aer_dev_fatal, row TOTAL_ERR_FATAL\n"));
}

TEST(RuleText, ExplainsNumbersInTheUnitOfTheirSignAndTimesAsPeopleWriteThem) {
  const StatusOr<RuleTable> read = ParseRules(
      "signs:\n"
      "- {name: heat, kind: reading, unit: °C, file: t, every: 90s}\n"
      "- {name: load, kind: reading, unit: '%'}\n"
      "- {name: errors, kind: counter, unit: frames}\n"
      "rules:\n"
      "- {id: hot, sign: heat, when: '> 85', while: load > 20, enter_for: 1h30m, leave: 82,\n"
      "   leave_for: 250ms, state: Unhealthy, code: Hot, sentence: hot, owner: Hardware}\n"
      "- {id: cool, sign: heat, when: '< 5', state: Unhealthy, code: Cool, sentence: cool,\n"
      "   owner: Hardware}\n"
      "- {id: lossy, sign: errors, when: rises > 10 in 24h, state: Unhealthy, code: Lossy,\n"
      "   sentence: lossy, owner: Hardware}\n",
      "r.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const RuleTable& table = *read;
  EXPECT_EQ(ExplainRule(table.rules[0], table),
            "hot: Unhealthy, Hot\n"
            "  reads  t; every 1m30s\n"
            "  when   heat > 85 °C, while load > 20 %, for 1h30m\n"
            "  ends   past 82 °C for 250ms\n"
            "  says   hot\n");
  EXPECT_THAT(ExplainRule(table.rules[1], table), ::testing::HasSubstr("ends   no longer so\n"));
  EXPECT_THAT(ExplainRule(table.rules[2], table),
              ::testing::HasSubstr("when   errors rises > 10 frames in 24h\n"));
}

TEST(RuleText, SaysAllThatARuleHas) {
  const Rule rule{.id = "hot",
                  .sign = "heat",
                  .match = *ParseMatch("> 85"),
                  .condition = Condition{"load", std::get<Comparison>(*ParseMatch("> 20"))},
                  .code = "Hot",
                  .sentence = "{text}",
                  .text = "warm",
                  .because = "it is tested",
                  .enter_for = std::chrono::seconds(2),
                  .count = 3,
                  .window = std::chrono::seconds(60),
                  .clears = {"a", "b"},
                  .supersedes = {"c", "d"}};
  EXPECT_EQ(ExplainRule(rule, {}),
            "hot: Healthy, Hot\n"
            "  reads  the driver\n"
            "  when   heat > 85, while load > 20, 3 times in 1m, for 2s\n"
            "  says   {text}\n"
            "  text   warm\n"
            "  because it is tested\n"
            "  clears a\n"
            "  clears b\n"
            "  supersedes c\n"
            "  supersedes d\n");
}

}  // namespace
}  // namespace galen::probes
