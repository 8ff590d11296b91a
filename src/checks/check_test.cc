#include "checks/check.h"

#include <gtest/gtest.h>

namespace galen::checks {
namespace {

TEST(Check, AResultHoldsTheCheckAndItsOutcome) {
  const std::vector<Check<int>> checks = {
      {"numbers.even", "It is even", "Add one.",
       [](const int& seen) { return Outcome{seen % 2 == 0 ? Level::kGood : Level::kBad, "odd"}; }},
      {"numbers.small", Level::kWarning, "It is small", "It will not fit.", "Halve it.",
       [](const int&) { return Outcome{Level::kWarning, "large"}; }}};
  const std::vector<CheckResult> results = JudgeAll(checks, 7);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].level, Level::kBad);
  EXPECT_EQ(results[0].severity, Level::kBad);
  EXPECT_EQ(results[0].seen, "odd");
  EXPECT_EQ(results[0].means, "");
  EXPECT_EQ(results[1].severity, Level::kWarning);
  EXPECT_EQ(results[1].group(), "numbers");
  EXPECT_EQ(results[1].name(), "small");
  EXPECT_EQ(results[1].means, "It will not fit.");
}

}  // namespace
}  // namespace galen::checks
