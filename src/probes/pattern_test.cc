#include "probes/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::probes {
namespace {

using ::testing::HasSubstr;

std::optional<Pattern> Make(std::string_view text) {
  StatusOr<Pattern> pattern = Pattern::Create(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status().message();
  return pattern.ok() ? std::optional(*std::move(pattern)) : std::nullopt;
}

TEST(Pattern, FindsItsGroupOrAllOfIt) {
  const std::string text = "0: 500Mhz\n1: 1410Mhz *\n2: 2000Mhz\n";
  EXPECT_EQ(Make("([0-9]+)Mhz \\*")->Find(text).text, "1410");
  EXPECT_EQ(Make("[0-9]+Mhz$")->Find(text).text, "500Mhz");
  EXPECT_EQ(Make("^2: ([0-9]+)")->Find(text).text, "2000");
  EXPECT_FALSE(Make("^3:")->Find(text).matches);
  EXPECT_EQ(Make("(a)?b")->Find("b").text, "") << "a group that took no part";
}

TEST(Pattern, ACopyFindsTheSame) {
  Pattern copy = *Make("x");
  {
    const Pattern original = *Make("^2: ([0-9]+)$");
    copy = original;
  }
  EXPECT_EQ(copy.Find("1: 5\n2: 7\n").text, "7");
  EXPECT_EQ(copy.groups(), 1);
}

TEST(Pattern, CanBeHeldToTheBegin) {
  EXPECT_TRUE(Make("Fatal error")->FindAtBegin("Fatal error 3").matches);
  EXPECT_FALSE(Make("Fatal error")->FindAtBegin("said: Fatal error 3").matches);
  EXPECT_FALSE(Make("^Fatal")->FindAtBegin("said\nFatal").matches);
}

TEST(Pattern, SaysWhatIsNone) {
  EXPECT_THAT(Pattern::Create("(a").status().message(), HasSubstr("is not a regular expression: "));
  EXPECT_THAT(Pattern::Create("").status().message(), HasSubstr("1 to 256 bytes"));
  EXPECT_FALSE(Pattern::Create(std::string(257, 'a')).ok());
  EXPECT_FALSE(Pattern::Create("a\\1").ok()) << "what would need more than linear time";
  EXPECT_FALSE(Pattern::Create("(?=a)").ok());
  EXPECT_FALSE(Pattern::Create("((a{100}){100}){100}").ok()) << "what would need much memory";
  EXPECT_FALSE(Pattern::Create("(((x{1,30}){1,30}){1,30}){1,30}").ok());
}

// A backtracking engine would need 2^50 steps for each of these.
TEST(Pattern, WhatExplodesElsewhereDoesNotHere) {
  const std::string text(8000, 'a');
  EXPECT_FALSE(Make("(a+)+$b")->Find(text).matches);
  EXPECT_FALSE(Make("(a|aa)+b")->Find(text).matches);
  EXPECT_FALSE(Make("(.*)*(.*)*(.*)*b")->Find(text).matches);
}

TEST(Pattern, TakesAnyBytes) {
  EXPECT_EQ(Make("x(.)y")->Find("x\xffy").text, "\xff");
  EXPECT_FALSE(Make("x(.)y")->Find("x\ny").matches);
  EXPECT_TRUE(Make("\xc2\xb0 C")->Find("41 \xc2\xb0 C").matches);
}

}  // namespace
}  // namespace galen::probes
