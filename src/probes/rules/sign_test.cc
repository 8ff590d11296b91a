#include "probes/rules/sign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace galen::probes {
namespace {

Sign WithValue(std::variant<double, std::string> value) {
  Sign sign;
  sign.value = std::move(value);
  return sign;
}

TEST(Sign, ReadsNumbersFromNumbersAndFromTextThatIsOne) {
  EXPECT_EQ(NumberOf(WithValue(91.5)), 91.5);
  EXPECT_EQ(NumberOf(WithValue("16")), 16);
  EXPECT_EQ(NumberOf(WithValue("16 GT/s")), std::nullopt);
  EXPECT_EQ(NumberOf(WithValue("down")), std::nullopt);
  EXPECT_EQ(NumberOf(WithValue("")), std::nullopt);
}

TEST(Sign, WhatCannotBeComparedIsNoNumber) {
  EXPECT_EQ(NumberOf(WithValue(std::nan(""))), std::nullopt);
  EXPECT_EQ(NumberOf(WithValue(std::numeric_limits<double>::infinity())), std::nullopt);
  EXPECT_EQ(NumberOf(WithValue("nan")), std::nullopt);
}

TEST(Sign, WholeNumbersAreExactOrNone) {
  EXPECT_EQ(WholeNumberOf(WithValue(79.0)), 79);
  EXPECT_EQ(WholeNumberOf(WithValue(-1.0)), -1);
  EXPECT_EQ(WholeNumberOf(WithValue(79.5)), std::nullopt);
  EXPECT_EQ(WholeNumberOf(WithValue(1e300)), std::nullopt);
}

TEST(Sign, BitsAreThoseOfAWholeNumberThatIsNotNegative) {
  EXPECT_EQ(BitsOf(WithValue(6.0)), 6u);
  EXPECT_EQ(BitsOf(WithValue(0.0)), 0u);
  EXPECT_EQ(BitsOf(WithValue(-1.0)), std::nullopt);
  EXPECT_EQ(BitsOf(WithValue(0.5)), std::nullopt);
}

TEST(Sign, ShowsValuesAsPeopleWriteThem) {
  EXPECT_EQ(ValueText(WithValue(91.0)), "91");
  EXPECT_EQ(ValueText(WithValue(0.5)), "0.5");
  EXPECT_EQ(ValueText(WithValue(400000.0)), "400000");
  EXPECT_EQ(ValueText(WithValue("down")), "down");
}

}  // namespace
}  // namespace galen::probes
