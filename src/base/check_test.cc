#include "base/check.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(CheckDeathTest, NamesTheConditionAndItsPlace) {
  const int devices = 3;
  EXPECT_DEATH(GALEN_CHECK(devices == 4), "check failed: devices == 4 at .*check_test\\.cc:[0-9]+");
  EXPECT_DEATH(GALEN_UNREACHABLE(), "unreachable at .*check_test\\.cc");
}

TEST(Check, LooksAtItsConditionOnce) {
  int looks = 0;
  GALEN_CHECK(++looks == 1);
  EXPECT_EQ(looks, 1);
}

}  // namespace
}  // namespace galen
