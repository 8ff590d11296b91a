#include "active/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "active/test_device.h"

namespace galen::active {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Pattern kOnes{.name = "ones", .mask = ~std::uint64_t{0}};

class MemoryCheckTest : public ::testing::Test {
 protected:
  StatusOr<std::optional<Finding>> Check(std::uint64_t bytes, const Pattern& pattern = kOnes) {
    ASSIGN_OR_RETURN(MemoryCheck check, MemoryCheck::Take(device_, bytes, watch_));
    bytes_ = check.bytes();
    return check.Run(pattern, watch_);
  }
  TestDevice device_;
  CheckWatch watch_{{.now = [] { return Time{}; }}};
  std::uint64_t bytes_ = 0;
};

TEST_F(MemoryCheckTest, FindsNothingInMemoryThatHolds) {
  for (const Pattern& pattern : PatternsOfRound(1, 3)) {
    EXPECT_EQ(*Check(1 << 16, pattern), std::nullopt) << pattern.name;
  }
}

TEST_F(MemoryCheckTest, TellsTheFirstWrongWordItsBitAndHowMany) {
  device_.stuck = 77;
  const auto found = *Check(1 << 16);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "MemoryMismatch");
  EXPECT_THAT(found->message,
              ContainsRegex("^Memory does not hold what was written \\(ones\\): 1 of 8192 words, "
                            "the first at 0x[0-9a-f]+268 with bit 17 wrong$"));
}

TEST_F(MemoryCheckTest, SaysSoWhenTheWordIsRightTheNextTime) {
  device_.stuck = 77;
  device_.reads_right_again = true;
  EXPECT_THAT((*Check(1 << 16))->message, HasSubstr("with bit 17 wrong, right when read again"));
}

TEST_F(MemoryCheckTest, AWrongBitStaysFoundWhenTheDeviceIsLostAfterwards) {
  device_.stuck = 5;
  device_.compares_most = 1;
  device_.loses_reads = true;
  const auto found = Check(MemoryCheck::kChunkBytes + 4096);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_TRUE(*found);
  EXPECT_THAT((*found)->message, HasSubstr(": 1 of 8389120 words, "));
  EXPECT_THAT((*found)->message, HasSubstr("with bit 17 wrong, not read again"));
  device_.stuck.reset();
  device_.compares_most = 1;
  EXPECT_EQ(Check(MemoryCheck::kChunkBytes + 4096).status().code(), Code::kUnavailable)
      << "nothing was found before";
}

TEST_F(MemoryCheckTest, CountsOverAllBlocksAndTellsTheFirst) {
  device_.stuck = 5;
  const auto found = *Check(MemoryCheck::kChunkBytes + 4096);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->message, HasSubstr(": 2 of 8389120 words, "));
}

TEST_F(MemoryCheckTest, TakesWholePagesAndWhatThereIs) {
  EXPECT_TRUE(Check(10000).ok());
  EXPECT_EQ(bytes_, 8192u);
  EXPECT_EQ(Check(4095).status().code(), Code::kResourceExhausted);
  device_.allocations_most = 1;
  EXPECT_EQ(Check(8192).status().code(), Code::kResourceExhausted);
}

TEST_F(MemoryCheckTest, StopsWhereItIsAskedTo) {
  device_.on_step = [this] { watch_.Stop(); };
  EXPECT_EQ(Check(1 << 16).status().code(), Code::kCancelled);
}

TEST(BitsText, NamesTwoBitsAndCountsMore) {
  EXPECT_EQ(BitsText(std::uint64_t{1} << 63), "bit 63");
  EXPECT_EQ(BitsText(0x9), "bits 0 and 3");
  EXPECT_EQ(BitsText(0xff0), "8 bits");
}

}  // namespace
}  // namespace galen::active
