#include "alloc/cel/values/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::alloc::cel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::unique_ptr<Pattern> Compiled(std::string_view text) { return Pattern::Compile(text).value(); }

TEST(Pattern, IsFoundAnywhere) {
  EXPECT_TRUE(Compiled("[0-9]+")->Matches("a100"));
  EXPECT_FALSE(Compiled("^[0-9]+$")->Matches("a100"));
  EXPECT_TRUE(Compiled("")->Matches(""));
  EXPECT_TRUE(Compiled("(?i)GPU")->Matches("a gpu"));
  EXPECT_TRUE(Compiled("^.$")->Matches("ä"));
}

TEST(Pattern, FindsTheFirst) {
  EXPECT_EQ(Compiled("[0-9]+")->Find("a100-80"), "100");
  EXPECT_EQ(Compiled("x")->Find("a"), std::nullopt);
}

TEST(Pattern, FindsAllAsGoDoes) {
  EXPECT_THAT(Compiled("[0-9]+")->FindAll("a100-80", -1), ElementsAre("100", "80"));
  EXPECT_THAT(Compiled("[0-9]+")->FindAll("a100-80", 1), ElementsAre("100"));
  EXPECT_THAT(Compiled("[0-9]+")->FindAll("a100-80", 0), IsEmpty());
  EXPECT_THAT(Compiled("x*")->FindAll("axä", -1), ElementsAre("", "x", ""));
  EXPECT_THAT(Compiled("")->FindAll("", -1), ElementsAre(""));
}

TEST(Pattern, AsksBeforeEachPlaceThatItLooksFor) {
  std::uint64_t steps = 0;
  int asked = 0;
  const auto may_work = [&](std::uint64_t more) {
    steps += more;
    return ++asked <= 2;
  };
  EXPECT_THAT(Compiled("[0-9]")->FindAll("1234", -1, may_work), ElementsAre("1", "2"));
  EXPECT_EQ(asked, 3);
  EXPECT_GE(steps, 3u);
}

TEST(Pattern, TakesMoreStepsOfALargerProgram) {
  EXPECT_GT(Compiled("a{900}")->StepsOn(1000), 50 * Compiled("a")->StepsOn(1000));
  EXPECT_GT(Compiled("a")->StepsOn(1000), Compiled("a")->StepsOn(10));
}

TEST(Pattern, SaysWhatIsWrong) {
  EXPECT_FALSE(Pattern::Compile("(").ok());
  EXPECT_FALSE(Pattern::Compile("a{2000}").ok());
  EXPECT_FALSE(Pattern::Compile("(?=a)").ok());
}

}  // namespace
}  // namespace galen::alloc::cel
