#include "base/data/percent.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(PercentDecode, UndoesEscapesOfEitherCase) {
  EXPECT_EQ(PercentDecode("us%40er:p%3Aw"), "us@er:p:w");
  EXPECT_EQ(PercentDecode("%c2%B0"), "°");
  EXPECT_EQ(PercentDecode("100%25"), "100%");
  EXPECT_EQ(PercentDecode("%00"), std::string(1, '\0'));
}

TEST(PercentDecode, LeavesAloneWhatIsNoEscape) {
  EXPECT_EQ(PercentDecode("100%"), "100%");
  EXPECT_EQ(PercentDecode("50% of %zz and %4"), "50% of %zz and %4");
  EXPECT_EQ(PercentDecode("%41%"), "A%");
  EXPECT_EQ(PercentDecode("%-1%+1% 1"), "%-1%+1% 1");
}

TEST(PercentDecode, TakesAPlusForASpaceOnlyWhereItIsOne) {
  EXPECT_EQ(PercentDecode("a+b%2B"), "a+b+");
  EXPECT_EQ(PercentDecode("a+b%2B", Plus::kIsSpace), "a b+");
}

}  // namespace
}  // namespace galen
