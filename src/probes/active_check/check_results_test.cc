#include "probes/active_check/check_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/fake_loop.h"
#include "probes/active_check/fake_result_files.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class CheckResultsTest : public ::testing::Test {
 protected:
  CheckResultsTest() {
    results_.SetDevices({{.name = "gpu-0", .known = {{"pci", "0000:4b:00.0"}, {"uuid", "GPU-1"}}},
                         {.name = "gpu-1", .known = {}}});
  }
  CheckResult Result(CheckVerdict verdict) {
    return {.device = "gpu-0",
            .pci_address = "0000:4b:00.0",
            .uuid = "GPU-1",
            .verdict = verdict,
            .code = "MemoryMismatch",
            .message = "bit 17 is wrong",
            .ended = loop_.WallNow(),
            .boot_id = "boot-1"};
  }
  void Leave(const CheckResult& result) {
    files_->Write(CheckResultFile(result.device, result.subject), ToJson(result).Dump());
  }
  Sign SignOfFirst() {
    const auto signs = results_.Observe();
    EXPECT_TRUE(signs.ok() && signs->size() == 2);
    EXPECT_EQ(signs->at(1).detail, "") << "of the other device";
    return signs->at(0);
  }
  // Whether the sign says nothing of a check.
  bool Says() { return !SignOfFirst().detail.empty(); }

  FakeLoop loop_;
  Metrics metrics_;
  FakeResultFiles* files_ = new FakeResultFiles;
  FakeDiskQueue* disk_ = new FakeDiskQueue;
  CheckResults results_{{loop_, NullLog(), metrics_},
                        std::unique_ptr<ResultFiles>(files_),
                        std::unique_ptr<DiskQueue>(disk_),
                        "/state/checks",
                        "boot-1"};
};

TEST_F(CheckResultsTest, WithoutAResultNothingIsWrong) {
  const Sign sign = SignOfFirst();
  EXPECT_EQ(sign.name, "active-check");
  EXPECT_EQ(NumberOf(sign), 0);
  EXPECT_EQ(sign.detail, "");
}

TEST_F(CheckResultsTest, ACheckThatFailedStaysUntilOnePassesOrItsResultIsGone) {
  Leave(Result(CheckVerdict::kFailed));
  const WallTime ended = loop_.WallNow();
  loop_.Advance(std::chrono::hours(24 * 30));
  Sign sign = SignOfFirst();
  EXPECT_EQ(NumberOf(sign), 1);
  EXPECT_EQ(sign.detail, "bit 17 is wrong");
  EXPECT_EQ(sign.time, ended);
  EXPECT_THAT(sign.raw, HasSubstr("active check of device failed at "));
  Leave(Result(CheckVerdict::kPassed));
  sign = SignOfFirst();
  EXPECT_EQ(NumberOf(sign), 0);
  EXPECT_THAT(sign.detail, HasSubstr("Active check of device passed at "));
  Leave(Result(CheckVerdict::kFailed));
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  files_->Remove("gpu-0.json");
  EXPECT_FALSE(Says());
}

TEST_F(CheckResultsTest, WhatPassedIsSaidForAWeek) {
  Leave(Result(CheckVerdict::kPassed));
  EXPECT_TRUE(Says());
  loop_.Advance(std::chrono::hours(24 * 7));
  EXPECT_TRUE(Says());
  loop_.Advance(1s);
  EXPECT_FALSE(Says());
}

TEST_F(CheckResultsTest, LinksThatFailedOutrankADeviceThatPassed) {
  Leave(Result(CheckVerdict::kPassed));
  CheckResult links = Result(CheckVerdict::kFailed);
  links.subject = CheckSubject::kLinks;
  Leave(links);
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
}

TEST_F(CheckResultsTest, BelievesNothingOfAnotherBootDeviceNameOrOfTheFuture) {
  const auto changed = [&](auto change) {
    CheckResult result = Result(CheckVerdict::kFailed);
    change(result);
    files_->Write("gpu-0.json", ToJson(result).Dump());
    return Says();
  };
  EXPECT_TRUE(changed([](CheckResult&) {}));
  EXPECT_FALSE(changed([](CheckResult& result) { result.boot_id = "boot-0"; }));
  EXPECT_FALSE(changed([](CheckResult& result) { result.pci_address = "0000:4c:00.0"; }));
  EXPECT_FALSE(changed([](CheckResult& result) { result.uuid = "GPU-2"; }));
  EXPECT_FALSE(changed([](CheckResult& result) { result.device = "gpu-1"; }));
  EXPECT_FALSE(changed([](CheckResult& result) { result.subject = CheckSubject::kLinks; }));
  EXPECT_FALSE(changed([](CheckResult& result) { result.verdict = CheckVerdict::kUnknown; }));
  EXPECT_TRUE(changed([](CheckResult& result) { result.ended += 1min; }));
  EXPECT_FALSE(changed([](CheckResult& result) { result.ended += 61s; }));
  // One that names no UUID is of whatever has the address.
  EXPECT_TRUE(changed([](CheckResult& result) { result.uuid = ""; }));
  files_->Write("gpu-0.json", "{");
  EXPECT_FALSE(Says());
}

TEST_F(CheckResultsTest, ADirectoryThatCannotBeListedClearsNothing) {
  Leave(Result(CheckVerdict::kFailed));
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  files_->trouble = Unavailable("too many open files");
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  files_->trouble = OkStatus();
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  EXPECT_EQ(files_->reads, 1);
}

TEST_F(CheckResultsTest, BeforeTheFirstListNobodyKnows) {
  files_->trouble = Unavailable("too many open files");
  EXPECT_EQ(SignOfFirst().error, "too many open files");
  files_->trouble = OkStatus();
  EXPECT_EQ(SignOfFirst().error, "");
}

TEST_F(CheckResultsTest, ADiskThatHangsClearsNothingAndWhatItHasIsLookedAtWhenItGoesOn) {
  int looks = 0;
  Leave(Result(CheckVerdict::kFailed));
  results_.Start([&looks] { ++looks; });
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  disk_->Hang();
  Leave(Result(CheckVerdict::kPassed));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  EXPECT_EQ(disk_->waiting(), 1U) << "one look at a time";
  loop_.Advance(CheckResults::kPatience);
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  EXPECT_EQ(SignOfFirst().error, "");
  EXPECT_EQ(looks, 0);
  disk_->GoOn();
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(NumberOf(SignOfFirst()), 0);
  EXPECT_EQ(looks, 1) << "nothing is new to whoever looks";
}

TEST_F(CheckResultsTest, ADirectoryThatNeverAnswersIsNotKnown) {
  disk_->Hang();
  SignOfFirst();
  loop_.Advance(CheckResults::kPatience);
  EXPECT_EQ(SignOfFirst().error, "/state/checks has not answered for 5 s");
  disk_->GoOn();
  EXPECT_EQ(SignOfFirst().error, "");
}

TEST_F(CheckResultsTest, AFileThatCannotBeReadNowIsReadAgainAndClearsNothing) {
  Leave(Result(CheckVerdict::kFailed));
  files_->trouble_of_reads = Unavailable("input/output error");
  EXPECT_EQ(SignOfFirst().error, "input/output error");
  files_->trouble_of_reads = OkStatus();
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
  EXPECT_EQ(SignOfFirst().error, "");
  Leave(Result(CheckVerdict::kFailed));
  files_->trouble_of_reads = Unavailable("input/output error");
  EXPECT_EQ(NumberOf(SignOfFirst()), 1) << "what was read before";
  EXPECT_EQ(SignOfFirst().error, "");
  EXPECT_THAT(metrics_.Text(), HasSubstr("verdict=\"refused\"} 2")) << "each trouble once";
}

TEST_F(CheckResultsTest, AResultOfATimeToComeCountsWhenItHasCome) {
  CheckResult result = Result(CheckVerdict::kFailed);
  result.ended += 5min;
  Leave(result);
  EXPECT_FALSE(Says());
  loop_.Advance(5min);
  EXPECT_EQ(NumberOf(SignOfFirst()), 1);
}

TEST_F(CheckResultsTest, AResultOfAnotherBootIsStaleAndNotRefused) {
  CheckResult result = Result(CheckVerdict::kFailed);
  result.boot_id = "boot-0";
  Leave(result);
  EXPECT_FALSE(Says());
  EXPECT_THAT(metrics_.Text(), HasSubstr("verdict=\"stale\"} 1"));
  EXPECT_EQ(metrics_.Text().find("refused"), std::string::npos);
}

TEST_F(CheckResultsTest, ReadsAFileOnceAndCountsWhatItSays) {
  Leave(Result(CheckVerdict::kFailed));
  for (int look = 0; look < 5; ++look) EXPECT_TRUE(Says());
  EXPECT_EQ(files_->reads, 1);
  files_->Write("gpu-0.json", "{");
  EXPECT_FALSE(Says());
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("galen_active_checks_total{verdict=\"Failed\"} 1"));
  EXPECT_THAT(text, HasSubstr("galen_active_checks_total{verdict=\"refused\"} 1"));
}

// By a clock that runs, as FakeLoop's does not: each look would begin the next one at once.
TEST(CheckResultsByAClockThatRuns, ALookThatFindsNothingNewAsksForNoOther) {
  const auto loop = *EpollLoop::Create();
  Metrics metrics;
  auto* disk = new FakeDiskQueue;
  auto* files = new FakeResultFiles;
  CheckResults results({*loop, NullLog(), metrics}, std::unique_ptr<ResultFiles>(files),
                       std::unique_ptr<DiskQueue>(disk), "/state/checks", "boot-1");
  results.SetDevices({{.name = "gpu-0", .known = {}}});
  int asked = 0;
  results.Start([&asked] { ++asked; });
  disk->Hang();
  EXPECT_TRUE(results.Observe().ok());
  disk->GoOn();
  EXPECT_EQ(asked, 0);
  disk->Hang();
  EXPECT_TRUE(results.Observe().ok());
  const CheckResult failed{.device = "gpu-0",
                           .verdict = CheckVerdict::kFailed,
                           .code = "MemoryMismatch",
                           .message = "bit 17 is wrong",
                           .ended = loop->WallNow(),
                           .boot_id = "boot-1"};
  files->Write(CheckResultFile(failed.device, failed.subject), ToJson(failed).Dump());
  disk->GoOn();
  EXPECT_EQ(asked, 1) << "a result that is new";
}

}  // namespace
}  // namespace galen::probes
