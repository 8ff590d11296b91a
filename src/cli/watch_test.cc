#include "cli/watch.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Watch, TellsAPipeOnlyTheRowsThatChanged) {
  const std::string before = "POD  HEALTH\na    Healthy\nb    Healthy\n";
  const std::string after = "POD  HEALTH\nb    Unhealthy\na    Healthy\n";
  EXPECT_EQ(ChangedLines(before, after), "b    Unhealthy\n");
}

TEST(Watch, TellsAPipeNothingWhenNothingChanged) {
  EXPECT_EQ(ChangedLines("A\nx\n", "A\nx\n"), "");
}

TEST(Watch, RefusesAKindItDoesNotKnowBeforeItConnects) {
  Options options;
  const auto code = Watch(options, "gadgets", "", [](std::string_view) {});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::cli
