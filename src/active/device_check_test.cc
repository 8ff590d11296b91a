#include "active/device_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "active/test_device.h"

namespace galen::active {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A second passes with each pattern that is written.
class DeviceCheckTest : public ::testing::Test {
 protected:
  DeviceCheckTest() {
    device_.on_step = [this] { now_ += 1s; };
  }
  CheckOutcome Check(Duration time) {
    CheckWatch watch({.now = [this] { return now_; },
                      .end = now_ + time,
                      .temperature = [this] { return std::optional(temperature_); },
                      .temperature_most = 80});
    return RunDeviceCheck(device_, options_, watch);
  }
  TestDevice device_;
  DeviceCheckOptions options_{.seed = 1, .memory_share = 0.5};
  Time now_{};
  double temperature_ = 41;
};

TEST_F(DeviceCheckTest, PassesWhenARoundIsCompleteAndItsTimeIsOver) {
  const CheckOutcome outcome = Check(200s);
  EXPECT_EQ(outcome.verdict, CheckVerdict::kPassed);
  EXPECT_GE(outcome.rounds, 2);
  EXPECT_EQ(outcome.bytes, 1u << 19);
  EXPECT_EQ(outcome.message, "");
  EXPECT_LT(now_, Time{} + 202s);
}

TEST_F(DeviceCheckTest, PassesAfterTheRoundsThatAreAskedFor) {
  options_.rounds_max = 1;
  const CheckOutcome outcome = Check(200s);
  EXPECT_EQ(outcome.verdict, CheckVerdict::kPassed);
  EXPECT_EQ(outcome.rounds, 1);
}

TEST_F(DeviceCheckTest, CannotTellWhenItsTimeIsOverBeforeARound) {
  const CheckOutcome outcome = Check(10s);
  EXPECT_EQ(outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_EQ(outcome.code, "TimeOver");
  EXPECT_EQ(outcome.message,
            "the time was over before one round was complete (9 of 26 tests done)");
}

TEST_F(DeviceCheckTest, DoesNotCountMatricesAsDoneWhileTheyAreMultiplied) {
  // Patterns take half of a round of some 50 s, matrices the other.
  for (const Duration time : {28s, 34s, 40s, 46s}) {
    const CheckOutcome outcome = Check(time);
    EXPECT_EQ(outcome.rounds, 0);
    EXPECT_THAT(outcome.message, HasSubstr("(24 of 26 tests done)")) << time.count();
  }
}

TEST_F(DeviceCheckTest, FailsByMemoryAndByMatrices) {
  device_.miscomputes = MatrixKind::kFloats;
  EXPECT_EQ(Check(200s).code, "MatrixMismatch");
  device_.stuck = 3;
  const CheckOutcome outcome = Check(200s);
  EXPECT_EQ(outcome.verdict, CheckVerdict::kFailed);
  EXPECT_EQ(outcome.code, "MemoryMismatch");
  EXPECT_THAT(outcome.message, StartsWith("Memory does not hold what was written"));
}

TEST_F(DeviceCheckTest, IsNeverFailedBecauseItIsTooHot) {
  temperature_ = 81;
  const CheckOutcome outcome = Check(200s);
  EXPECT_EQ(outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_EQ(outcome.code, "TooHot");
  EXPECT_THAT(outcome.message, HasSubstr("too hot: 81 °C exceeds 80 °C"));
}

TEST_F(DeviceCheckTest, FailsByWhatTheDeviceSaysOfItselfAndByNoOtherError) {
  device_.fails = DataLoss("cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE");
  EXPECT_EQ(Check(200s).verdict, CheckVerdict::kFailed);
  device_.fails = Unavailable("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS");
  const CheckOutcome outcome = Check(200s);
  EXPECT_EQ(outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_EQ(outcome.code, "CheckError");
}

TEST_F(DeviceCheckTest, TakesNoMoreMemoryThanItsBound) {
  options_.memory_bytes_max = 8192;
  EXPECT_EQ(Check(100s).bytes, 8192u);
}

}  // namespace
}  // namespace galen::active
