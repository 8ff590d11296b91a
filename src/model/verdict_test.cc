#include "model/verdict.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

// How whole verdicts read is tested where there are some, in judge_test.
TEST(VerdictSummary, HasThreeReasonsAtMostAndTheStrongestAgainst) {
  Verdict verdict{.kind = VerdictKind::kPlatform, .confidence = 0.5};
  verdict.supporting = {{.sentence = "a"}};
  EXPECT_EQ(Summary(verdict), "platform (0.50): a");
  for (const char* sentence : {"b", "c", "d"}) verdict.supporting.push_back({.sentence = sentence});
  for (const char* sentence : {"x", "y"}) {
    verdict.opposing.push_back({.supports = VerdictKind::kHardware, .sentence = sentence});
  }
  EXPECT_EQ(Summary(verdict), "platform (0.50): a; b; c; but for hardware: x");
}

TEST(VerdictSummary, OfAnOpenOneSaysWhatSupportsWhat) {
  Verdict verdict;
  verdict.opposing = {{.supports = VerdictKind::kHardware, .sentence = "x"},
                      {.supports = VerdictKind::kApplication, .sentence = "y"}};
  EXPECT_EQ(Summary(verdict), "undetermined: for hardware: x; for application: y");
}

}  // namespace
}  // namespace galen
