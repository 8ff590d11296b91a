#include "active/link_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "active/test_device.h"

namespace galen::active {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BadEnds, IsTheOneInEveryWrongPair) {
  EXPECT_THAT(BadEnds(3, {{0, 1}, {1, 2}}), ElementsAre(1));
  EXPECT_THAT(BadEnds(4, {{0, 3}, {1, 3}, {2, 3}}), ElementsAre(3));
  EXPECT_THAT(BadEnds(5, {{0, 1}, {1, 2}}), ElementsAre(1));
}

TEST(BadEnds, AreTwoWhereOneDoesNotExplainAll) {
  EXPECT_THAT(BadEnds(5, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}}),
              ElementsAre(0, 1));
}

TEST(BadEnds, NamesNobodyWhereItCouldBeAnother) {
  EXPECT_THAT(BadEnds(2, {{0, 1}}), IsEmpty());
  EXPECT_THAT(BadEnds(8, {{2, 5}}), IsEmpty());
  EXPECT_THAT(BadEnds(3, {{0, 1}, {0, 2}, {1, 2}}), IsEmpty());
  EXPECT_THAT(BadEnds(4, {{0, 1}, {2, 3}}), IsEmpty());
  EXPECT_THAT(BadEnds(3, {}), IsEmpty());
}

class LinkCheckTest : public ::testing::Test {
 protected:
  LinkOutcome Check(std::size_t number, Duration time = 60s) {
    std::vector<LinkEnd> ends;
    for (std::size_t i = 0; i < number; ++i) {
      devices_[i].on_step = [this] { now_ += 1s; };
      ends.push_back({.name = fmt::format("gpu-{}", i), .device = &devices_[i]});
    }
    CheckWatch watch({.now = [this] { return now_; }, .end = now_ + time});
    return RunLinkCheck(ends, 4096, {.seed = 1, .rounds_max = rounds_}, watch);
  }
  TestDevice devices_[4];
  int rounds_ = 0;
  Time now_{};
};

TEST_F(LinkCheckTest, PassesWhenAllArrivesForARound) {
  const LinkOutcome link = Check(3);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kPassed);
  EXPECT_GE(link.outcome.rounds, 4);
  EXPECT_THAT(link.bad, IsEmpty());
}

TEST_F(LinkCheckTest, PassesAfterTheRoundsThatAreAskedFor) {
  rounds_ = 2;
  const LinkOutcome link = Check(3);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kPassed);
  EXPECT_EQ(link.outcome.rounds, 2);
}

TEST_F(LinkCheckTest, NamesTheEndAtWhichAllArrivesWrong) {
  devices_[2].flips_when_copied = true;
  const LinkOutcome link = Check(4);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kFailed);
  EXPECT_EQ(link.outcome.code, "LinkTransferMismatch");
  EXPECT_THAT(link.bad, ElementsAre(2));
  EXPECT_EQ(link.outcome.message,
            "Data of gpu-2 arrives wrong: 3 of 6 pairs of devices, all of them with it");
}

TEST_F(LinkCheckTest, OfTwoItNamesNeither) {
  devices_[1].flips_when_copied = true;
  const LinkOutcome link = Check(2);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kFailed);
  EXPECT_THAT(link.bad, IsEmpty());
  EXPECT_THAT(link.outcome.message, HasSubstr("gpu-0 and gpu-1 arrives wrong: one of the two"));
}

TEST_F(LinkCheckTest, DoesNotBlameALinkForWhatWasWrongBefore) {
  devices_[1].stuck = 9;
  const LinkOutcome link = Check(3);
  EXPECT_EQ(link.outcome.code, "MemoryMismatch");
  EXPECT_THAT(link.bad, ElementsAre(1));
}

TEST_F(LinkCheckTest, NamesTheEndThatSaysItselfThatItIsBroken) {
  devices_[2].fails = DataLoss("cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE");
  const LinkOutcome link = Check(3);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kFailed);
  EXPECT_EQ(link.outcome.code, "DeviceReportsError");
  EXPECT_THAT(link.bad, ElementsAre(2));
  EXPECT_THAT(link.outcome.message, HasSubstr("gpu-2: cuCtxSynchronize"));
}

TEST_F(LinkCheckTest, NobodyIsNamedByAnErrorThatMayBeAnything) {
  devices_[2].fails = Unavailable("cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED");
  const LinkOutcome link = Check(3);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_THAT(link.bad, IsEmpty());
}

TEST_F(LinkCheckTest, TellsWhatItFoundWhenItsTimeIsOver) {
  devices_[0].flips_when_copied = true;
  devices_[1].flips_when_copied = true;
  EXPECT_EQ(Check(3, 3s).outcome.verdict, CheckVerdict::kFailed);
  devices_[0].flips_when_copied = false;
  devices_[1].flips_when_copied = false;
  const LinkOutcome link = Check(3, 4s);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_THAT(link.outcome.message, HasSubstr("2 of 6 pairs done"));
}

}  // namespace
}  // namespace galen::active
