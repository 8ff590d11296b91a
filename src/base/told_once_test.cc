#include "base/told_once.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

TEST(ToldOnce, EachKeyIsToldOnceUntilItIsForgotten) {
  ToldOnce told;
  EXPECT_TRUE(told.First("a"));
  EXPECT_FALSE(told.First("a"));
  told.Forget("a");
  told.Forget("never told");
  EXPECT_TRUE(told.First("a"));
}

// Past the limit nothing new was reported any more, for as long as the agent lived.
TEST(ToldOnce, SomethingNewIsToldHoweverMuchWasToldBefore) {
  ToldOnce told;
  for (std::size_t i = 0; i < 3 * ToldOnce::kKeysMax; ++i) {
    EXPECT_TRUE(told.First(std::to_string(i)));
  }
  EXPECT_FALSE(told.First(std::to_string(3 * ToldOnce::kKeysMax - 1)));
  EXPECT_FALSE(told.First(std::to_string(2 * ToldOnce::kKeysMax))) << "the limit is all used";
  EXPECT_TRUE(told.First("0")) << "told longest ago";
}

}  // namespace
}  // namespace galen::agent
