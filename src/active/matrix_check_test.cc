#include "active/matrix_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "active/test_device.h"

namespace galen::active {
namespace {

using ::testing::HasSubstr;

class MatrixCheckTest : public ::testing::TestWithParam<MatrixKind> {
 protected:
  StatusOr<std::optional<Finding>> Check() {
    ASSIGN_OR_RETURN(MatrixCheck check, MatrixCheck::Take(device_, watch_));
    RETURN_IF_ERROR(check.Run(GetParam(), watch_).status());
    device_.loses_products = loses_second_;
    return check.Run(GetParam(), watch_);
  }
  TestDevice device_;
  CheckWatch watch_{{.now = [] { return Time{}; }}};
  bool loses_second_ = false;
};

TEST_P(MatrixCheckTest, TheKnownChecksumIsThatOfTheProduct) {
  const std::vector<std::uint32_t> product = Product(GetParam());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < product.size(); ++i) {
    sum += MixBits((i + 1) * kGoldenStep + product[i]);
  }
  EXPECT_EQ(ProductChecksum(GetParam()), sum) << std::hex << sum;
}

TEST_P(MatrixCheckTest, FindsNothingInAProductThatIsRight) { EXPECT_EQ(*Check(), std::nullopt); }

TEST_P(MatrixCheckTest, TellsTheFirstWrongElement) {
  device_.miscomputes = GetParam();
  const auto found = *Check();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "MatrixMismatch");
  EXPECT_THAT(found->message, HasSubstr("1 of 65536 elements, the first in row 1, column 4 is 0x"));
  EXPECT_LE(found->message.size(), 200u);
}

TEST_P(MatrixCheckTest, AWrongProductStaysFoundWhenItCannotBeReadAfterwards) {
  device_.miscomputes = GetParam();
  device_.loses_reads = true;
  const auto found = Check();
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_TRUE(*found);
  EXPECT_THAT((*found)->message, HasSubstr("wrong checksum, and its elements cannot be read"));
}

TEST_P(MatrixCheckTest, AProductThatWasNotWrittenIsNotTheOneBefore) {
  loses_second_ = true;
  const auto found = *Check();
  ASSERT_TRUE(found);
  EXPECT_THAT(found->message, HasSubstr("is wrong: 65536 of 65536 elements"));
}

INSTANTIATE_TEST_SUITE_P(BothKinds, MatrixCheckTest,
                         ::testing::Values(MatrixKind::kIntegers, MatrixKind::kFloats));

TEST(Factors, OfFloatsAreWholeAndSmallEnoughForExactSums) {
  for (const auto& factor : {LeftFactor(MatrixKind::kFloats), RightFactor(MatrixKind::kFloats)}) {
    for (const std::uint32_t bits : factor) {
      const float number = std::bit_cast<float>(bits);
      ASSERT_EQ(number, static_cast<float>(static_cast<int>(number)));
      ASSERT_LE(number, 255);
    }
  }
  EXPECT_LT(std::uint64_t{kMatrixSize} * 255 * 255, 1u << 24);
}

}  // namespace
}  // namespace galen::active
