#include "probes/rules/rule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rules/rule_reader.h"

namespace galen::probes {
namespace {

TEST(RuleText, OfAMatchIsReadBackAsTheSameMatch) {
  for (const char* text : {"> 85", ">= 0.5", "< expected", "<= 3", "== down", "!= 0", "< baseline",
                           "in 13, 31-33", "rises > 10 in 60s", "other"}) {
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

}  // namespace
}  // namespace galen::probes
