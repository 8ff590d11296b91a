// ClaimPreparer beside others: what another claim still has, and another process of the driver
// does.
#include <gmock/gmock.h>

#include <functional>

#include "sdk/claims/test_claim_preparer.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Its Pod was deleted by force and may still run; undone later, it would undo the next claim's,
// too.
TEST_F(ClaimPreparerTest, ADeviceThatIsStillPreparedForAnotherClaimIsNotPrepared) {
  const ClaimRef next{.ns = "train", .name = "c", .uid = "uid-2"};
  ASSERT_TRUE(Prepare().ok());
  answer_ = Claim("uid-2", "fpga-0");
  Restart();
  const auto refused = Prepare(next);
  EXPECT_EQ(refused.status().code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("still prepared for ResourceClaim train/c (UID "
                                                    "uid-1)"));
  EXPECT_THAT(prepared_, ElementsAre("uid-1"));
  ASSERT_EQ(Unprepare(), OkStatus());
  EXPECT_TRUE(Prepare(next).ok());
}

TEST_F(ClaimPreparerTest, ADeviceOfAnEarlierBootsClaimIsFree) {
  ASSERT_TRUE(Prepare().ok());
  FakeBoot(node_.files, "boot-2");
  answer_ = Claim("uid-2", "fpga-0");
  Restart();
  EXPECT_TRUE(Prepare({.ns = "train", .name = "c", .uid = "uid-2"}).ok());
}

TEST_F(ClaimPreparerTest, ADeviceIsPreparedForAnAdministratorBesideItsHolder) {
  ASSERT_TRUE(Prepare().ok());
  answer_ = Claim("uid-2", "fpga-0");
  const std::string device = R"("device":"fpga-0")";
  answer_->body.replace(answer_->body.find(device), device.size(),
                        device + R"(,"adminAccess":true)");
  EXPECT_TRUE(Prepare({.ns = "train", .name = "c", .uid = "uid-2"}).ok());
}

// A kubelet that lost its state never unprepares it.
TEST_F(ClaimPreparerTest, ADeviceThatNobodyUnpreparesIsFreedByThePersonWhoFollowsTheError) {
  const ClaimRef next{.ns = "train", .name = "c", .uid = "uid-2"};
  ASSERT_TRUE(Prepare().ok());
  answer_ = Claim("uid-2", "fpga-0");
  EXPECT_THAT(Prepare(next).status().message(), HasSubstr("remove /claims/uid-1.json"));
  ASSERT_EQ(node_.files.Remove("/claims/uid-1.json"), OkStatus());
  EXPECT_TRUE(Prepare(next).ok()) << "the driver need not be started again";
}

TEST_F(ClaimPreparerTest, AFileThatIsNoRecordStandsInNobodysWay) {
  ASSERT_EQ(node_.files.MakeDirectories("/claims/kept by admin.json", 0755), OkStatus());
  ASSERT_EQ(node_.files.WriteAtomically("/claims/UID-1 (copy).json", "{}", 0600), OkStatus());
  EXPECT_TRUE(Prepare().ok());
}

// Nobody knows what else it says, but what its containers can have is in its CDI file.
TEST_F(ClaimPreparerTest, ARecordThatCannotBeReadRefusesTheDevicesOfItsCdiFileAlone) {
  const ClaimRef other{.ns = "train", .name = "c", .uid = "uid-2"};
  const ClaimRef same{.ns = "train", .name = "c", .uid = "uid-3"};
  const auto torn = [&] {
    EXPECT_EQ(node_.files.WriteAtomically("/claims/uid-1.json", "{", 0600), OkStatus());
  };
  const auto directory = [&] {
    EXPECT_EQ(node_.files.Remove("/claims/uid-1.json"), OkStatus());
    EXPECT_EQ(node_.files.MakeDirectories("/claims/uid-1.json", 0755), OkStatus());
  };
  for (const std::function<void()>& damage : {std::function<void()>(torn), {directory}}) {
    answer_ = Claim("uid-1", "fpga-0");
    ASSERT_TRUE(Prepare().ok());
    damage();
    Restart();
    answer_ = Claim("uid-2", "fpga-1");
    const auto ready = Prepare(other);
    EXPECT_TRUE(ready.ok()) << ToString(ready.status());
    answer_ = Claim("uid-3", "fpga-0");
    const Status refused = Prepare(same).status();
    EXPECT_EQ(refused.code(), Code::kUnavailable);
    EXPECT_THAT(refused.message(), HasSubstr("device fpga-0"));
    EXPECT_THAT(refused.message(), HasSubstr("remove /claims/uid-1.json"));
    ASSERT_EQ(Unprepare(other), OkStatus());
    if (node_.files.Read("/claims/uid-1.json").ok()) {
      ASSERT_EQ(Unprepare(), OkStatus());
    }
  }
}

TEST_F(ClaimPreparerTest, ATornRecordIsPutAsideWhenItsOwnClaimIsUnprepared) {
  const ClaimRef next{.ns = "train", .name = "c", .uid = "uid-2"};
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(node_.files.WriteAtomically("/claims/uid-1.json", "{", 0600), OkStatus());
  answer_ = Claim("uid-2", "fpga-0");
  EXPECT_FALSE(Prepare(next).ok());
  EXPECT_EQ(Unprepare(), OkStatus());
  EXPECT_TRUE(Prepare(next).ok());
  EXPECT_THAT(*node_.files.List("/claims"), ElementsAre("uid-1.json.corrupt", "uid-2.json"));
}

// Then no container has a device of that claim from us.
TEST_F(ClaimPreparerTest, ARecordThatCannotBeReadRefusesNothingWhereThereIsNoCdiFile) {
  ASSERT_EQ(node_.files.MakeDirectories("/claims/uid-9.json", 0755), OkStatus());
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(ClaimPreparerTest, ARecordAndACdiFileThatCannotBeReadAreBothNamed) {
  ASSERT_EQ(node_.files.MakeDirectories("/claims/uid-9.json", 0755), OkStatus());
  ASSERT_EQ(node_.files.MakeDirectories("/cdi", 0755), OkStatus());
  const std::string file = "/cdi/fpga.example.com-claim_uid-9.json";
  ASSERT_EQ(node_.files.WriteAtomically(file, "{", 0644), OkStatus());
  const Status refused = Prepare().status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("remove /claims/uid-9.json"));
  EXPECT_THAT(refused.message(), HasSubstr(file));
  ASSERT_EQ(node_.files.Remove(file), OkStatus());
  EXPECT_TRUE(Prepare().ok());
}

// The kubelet asks the new process to unprepare while the old one still waits for the API server.
TEST_F(ClaimPreparerTest, AnotherProcessDoesNotUnprepareUnderAPrepareThatIsUnderWay) {
  const auto allocated = std::exchange(answer_, std::nullopt);
  StatusOr<std::vector<ReadyDevice>> ready = Unavailable("no answer yet");
  preparer_->Prepare(kPreparedClaim, [&](auto answer) { ready = std::move(answer); });
  node_.loop.RunUntilIdle();
  const auto newer = StartAnother();
  Status undone = Unavailable("no answer yet");
  newer->Unprepare(kPreparedClaim, [&](const Status& status) { undone = status; });
  node_.loop.Advance(5s);
  EXPECT_FALSE(undone.ok());
  api_.Head(0);
  api_.Data(0, allocated->body);
  api_.End(0);
  EXPECT_TRUE(ready.ok()) << ToString(ready.status());
  node_.loop.Advance(ProcessLock::kRetry);
  EXPECT_EQ(undone, OkStatus());
  EXPECT_THAT(unprepared_, ElementsAre("uid-1")) << "by the record that the other has just written";
  EXPECT_FALSE(node_.files.Read(kCdiFile).ok());
  EXPECT_THAT(*node_.files.List("/claims"), IsEmpty());
}

TEST_F(ClaimPreparerTest, AnotherProcessThatHangsIsNamedAndNothingIsDoneBesideIt) {
  answer_ = std::nullopt;
  auto hanging = StartAnother();
  hanging->Prepare(kPreparedClaim, [](auto) {});
  preparer_->Unprepare({.ns = "train", .name = "d", .uid = "uid-2"}, [](const Status&) {});
  Status undone;
  preparer_->Unprepare(kPreparedClaim, [&](const Status& status) { undone = status; });
  EXPECT_EQ(preparer_->under_way(), 2u);
  const auto lock = node_.files.TryLock("/serialize.lock");
  ASSERT_TRUE(lock.ok() && *lock == nullptr);
  hanging.reset();
  const auto kept = node_.files.TryLock("/serialize.lock");  // as a process that is stopped has it
  node_.loop.Advance(ProcessLock::kPatience);
  EXPECT_EQ(undone.code(), Code::kUnavailable);
  EXPECT_THAT(undone.message(), HasSubstr("another process of this driver"));
  EXPECT_THAT(undone.message(), HasSubstr("/serialize.lock"));
  EXPECT_EQ(preparer_->under_way(), 0u);
}

// A container of the claim's Pod that is started again needs its CDI file, and nobody prepares a
// claim anew for that.
TEST_F(ClaimPreparerTest, WhatAHangingProcessKeptFromBeingPutInOrderIsAfterItsEnd) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(node_.files.Remove(kCdiFile), OkStatus());
  preparer_.reset();
  auto kept = node_.files.TryLock("/serialize.lock");  // as a process that is stopped has it
  Restart();
  node_.loop.Advance(10min);
  EXPECT_FALSE(node_.files.Read(kCdiFile).ok());
  kept->reset();
  node_.loop.Advance(ClaimPreparer::kRecoverAgain.most);
  EXPECT_TRUE(node_.files.Read(kCdiFile).ok());
}

TEST_F(ClaimPreparerTest, WhatAFullDiskKeptFromBeingPutInOrderIsOnceThereIsRoom) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(node_.files.Remove(kCdiFile), OkStatus());
  node_.files.FailWrites(ResourceExhausted("no space left on device"));
  Restart();
  node_.loop.Advance(10min);
  node_.files.FailWrites(std::nullopt);
  node_.loop.Advance(ClaimPreparer::kRecoverAgain.most);
  EXPECT_TRUE(node_.files.Read(kCdiFile).ok());
  const std::uint64_t writes = node_.files.writes();
  node_.loop.Advance(10min);
  EXPECT_EQ(node_.files.writes(), writes) << "once is enough";
}

}  // namespace
}  // namespace galen::sdk
