#include "sdk/claims/claim_preparer.h"

#include <gmock/gmock.h>

#include "sdk/claims/test_claim_preparer.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(ClaimPreparerTest, MakesAClaimReady) {
  const auto ready = Prepare();
  ASSERT_TRUE(ready.ok()) << ToString(ready.status());
  EXPECT_THAT(*ready, ElementsAre(ReadyDevice{.request = "fpga",
                                              .pool = "node-7",
                                              .device = "fpga-0",
                                              .share_id = "",
                                              .cdi_ids = {"fpga.example.com/claim=uid-1-fpga-0"}}));
  EXPECT_EQ(api_.last(), "GET /apis/resource.k8s.io/v1/namespaces/train/resourceclaims/c");
  EXPECT_THAT(*node_.files.Read(kCdiFile), HasSubstr("FPGA=0"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ClaimPreparerTest, WithoutAnAuthorsPartAClaimIsReadyAllTheSame) {
  preparer_.reset();
  preparer_ = StartWith({});
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(ClaimPreparerTest, GivesTheSameAnswerAgainWithoutAskingTheAuthor) {
  const auto first = Prepare();
  Restart();
  preparer_->SetInventory({});  // its device may even have left meanwhile
  const auto again = Prepare();
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*again, *first);
  EXPECT_THAT(prepared_, ElementsAre("uid-1"));
}

// A claim of its own name keeps its UID when it is freed and allocated to another Pod.
TEST_F(ClaimPreparerTest, AClaimAllocatedAnewUnderItsUidGetsItsNewDevice) {
  ASSERT_TRUE(Prepare().ok());
  Restart();
  answer_ = Claim("uid-1", "fpga-1", "2026-11-21T15:00:00Z");
  const auto ready = Prepare();
  ASSERT_TRUE(ready.ok()) << ToString(ready.status());
  ASSERT_EQ(ready->size(), 1u);
  EXPECT_EQ(ready->front().device, "fpga-1");
  EXPECT_THAT(unprepared_, ElementsAre("uid-1")) << "as it was, before it is prepared as it is";
  EXPECT_THAT(prepared_, ElementsAre("uid-1", "uid-1"));
  EXPECT_THAT(*node_.files.Read(kCdiFile), Not(HasSubstr("fpga-0")));
}

TEST_F(ClaimPreparerTest, ANewAllocationOfTheSameDeviceIsPreparedAnewToo) {
  ASSERT_TRUE(Prepare().ok());
  answer_ = Claim("uid-1", "fpga-0", "2026-11-21T15:00:00Z");
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(unprepared_, ElementsAre("uid-1"))
      << "the next Pod must not find the last one's setup";
  EXPECT_THAT(prepared_, ElementsAre("uid-1", "uid-1"));
  answer_ = Claim("uid-1", "fpga-0", "");
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(prepared_, SizeIs(2)) << "an API server that does not say when";
}

TEST_F(ClaimPreparerTest, ARecordThatDoesNotSayWhenLearnsIt) {
  answer_ = Claim("uid-1", "fpga-0", "");
  ASSERT_TRUE(Prepare().ok());
  answer_ = Claim("uid-1", "fpga-0");
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(prepared_, SizeIs(1));
  answer_ = Claim("uid-1", "fpga-0", "2026-11-21T15:00:00Z");
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(prepared_, SizeIs(2));
}

TEST_F(ClaimPreparerTest, AFormerAllocationThatCannotBeUndoneStandsInTheWay) {
  ASSERT_TRUE(Prepare().ok());
  unprepare_answer_ = Failure{"FPGA is busy"};
  answer_ = Claim("uid-1", "fpga-1", "2026-11-21T15:00:00Z");
  EXPECT_THAT(Prepare().status().message(), HasSubstr("former allocation: FPGA is busy"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("FPGA is busy")));
  EXPECT_THAT(*node_.files.Read(kCdiFile), HasSubstr("fpga-0"));
  unprepare_answer_.reset();
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(ClaimPreparerTest, AClaimThatIsGoneIsNotPreparedFromMemory) {
  ASSERT_TRUE(Prepare().ok());
  answer_ = kube::FakeTransport::Answer{.status = 404};
  EXPECT_EQ(Prepare().status().code(), Code::kNotFound);
}

TEST_F(ClaimPreparerTest, PreparesAnewAfterAReboot) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(node_.files.Remove(kCdiFile), OkStatus());  // /var/run does not survive
  FakeBoot(node_.files, "boot-2");
  Restart();
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(prepared_, ElementsAre("uid-1", "uid-1"));
  EXPECT_TRUE(node_.files.Read(kCdiFile).ok());
}

TEST_F(ClaimPreparerTest, BringsBackALostCdiFileWhenItStarts) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(node_.files.Remove(kCdiFile), OkStatus());
  Restart();
  EXPECT_TRUE(node_.files.Read(kCdiFile).ok());
}

// A driver of the same name for another kubelet of this machine may have it in use.
TEST_F(ClaimPreparerTest, LeavesCdiFilesOfClaimsItDoesNotKnow) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(node_.files.Remove("/claims/uid-1.json"), OkStatus());
  Restart();
  EXPECT_TRUE(node_.files.Read(kCdiFile).ok());
  EXPECT_EQ(Unprepare(), OkStatus());
  EXPECT_FALSE(node_.files.Read(kCdiFile).ok()) << "but for a claim that is unprepared";
}

TEST_F(ClaimPreparerTest, WhatACrashLeftOfAWriteIsGoneAfterTheNextStart) {
  ASSERT_TRUE(Prepare().ok());
  const std::string temporary = std::string(kCdiFile) + ".tmp-Ab12Cd";
  for (const std::string& path : {std::string("/claims/uid-2.json.tmp-Ab12Cd"), temporary}) {
    ASSERT_EQ(node_.files.WriteAtomically(path, "{", 0600), OkStatus());
  }
  Restart();
  EXPECT_THAT(*node_.files.List("/claims"), ElementsAre("uid-1.json"));
  EXPECT_THAT(*node_.files.List("/cdi"), ElementsAre("fpga.example.com-claim_uid-1.json"));
}

TEST_F(ClaimPreparerTest, UnpreparesOnceEverythingIsUndone) {
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(Unprepare(), OkStatus());
  EXPECT_THAT(unprepared_, ElementsAre("uid-1"));
  EXPECT_EQ(node_.files.Read(kCdiFile).status().code(), Code::kNotFound);
  EXPECT_EQ(Unprepare(), OkStatus()) << "again is no fault";
  EXPECT_THAT(unprepared_, ElementsAre("uid-1"));
}

TEST_F(ClaimPreparerTest, ADeviceIsFreeUntilAClaimIsPreparedWithItInThisBoot) {
  EXPECT_EQ(preparer_->CheckFree("fpga-0"), OkStatus());
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(preparer_->CheckFree("fpga-0").message(), HasSubstr("ResourceClaim train/c"));
  EXPECT_EQ(preparer_->CheckFree("fpga-1"), OkStatus());
  EXPECT_FALSE(StartAnother()->CheckFree("fpga-0").ok()) << "what another process prepared, too";
  ASSERT_EQ(Unprepare(), OkStatus());
  EXPECT_EQ(preparer_->CheckFree("fpga-0"), OkStatus());
}

TEST_F(ClaimPreparerTest, UnpreparesAfterARestartThoughTheClaimIsGone) {
  ASSERT_TRUE(Prepare().ok());
  Restart();
  answer_ = kube::FakeTransport::Answer{.status = 404};
  EXPECT_EQ(Unprepare(), OkStatus());
  EXPECT_THAT(unprepared_, ElementsAre("uid-1"));
}

TEST_F(ClaimPreparerTest, AFailedUnprepareIsAskedForAgain) {
  ASSERT_TRUE(Prepare().ok());
  unprepare_answer_ = Failure{"FPGA is busy"};
  EXPECT_EQ(Unprepare().message(), "FPGA is busy");
  EXPECT_TRUE(node_.files.Read(kCdiFile).ok());
  unprepare_answer_.reset();
  EXPECT_EQ(Unprepare(), OkStatus());
  EXPECT_THAT(unprepared_, ElementsAre("uid-1", "uid-1"));
}

TEST_F(ClaimPreparerTest, UnpreparesWhatFailedHalfway) {
  prepare_answer_ = Failure{"FPGA is being flashed"};
  EXPECT_EQ(Prepare().status().message(), "FPGA is being flashed");
  Restart();
  EXPECT_EQ(Unprepare(), OkStatus());
  EXPECT_THAT(unprepared_, ElementsAre("uid-1"));
}

TEST_F(ClaimPreparerTest, SaysWhyAClaimCannotBePrepared) {
  answer_ = Claim("uid-2", "fpga-0");
  EXPECT_THAT(Prepare().status().message(), HasSubstr("was replaced"));
  answer_ = Claim("uid-1", "fpga-9");
  EXPECT_THAT(Prepare().status().message(), HasSubstr("fpga-9 is not in this driver's inventory"));
  answer_ = kube::FakeTransport::Answer{.status = 404};
  EXPECT_EQ(Prepare().status().message(), "ResourceClaim train/c does not exist");
  EXPECT_THAT(prepared_, IsEmpty());
}

// Runtimes refuse a whole spec file that holds a device without edits.
TEST_F(ClaimPreparerTest, DevicesWithoutEditsGetNoCdiDevice) {
  prepare_answer_ = CdiEdits{};
  const auto ready = Prepare();
  ASSERT_TRUE(ready.ok());
  ASSERT_FALSE(ready->empty());
  for (const ReadyDevice& device : *ready) EXPECT_THAT(device.cdi_ids, IsEmpty());
}

TEST_F(ClaimPreparerTest, AnApiServerThatIsAwayIsARetryableErrorAndSaysSo) {
  answer_ = kube::FakeTransport::Answer{.status = 0, .end = Unavailable("connection refused")};
  const Status status = Prepare().status();
  EXPECT_TRUE(IsRetryable(status)) << ToString(status);
  EXPECT_THAT(status.message(), HasSubstr("get ResourceClaim train/c"));
  EXPECT_THAT(status.message(), HasSubstr("the kubelet will ask again"));
  answer_ = Claim("uid-1", "fpga-0");
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(ClaimPreparerTest, AnApiServerThatHangsIsGivenUp) {
  answer_.reset();
  EXPECT_EQ(Prepare().status().code(), Code::kDeadlineExceeded);
}

TEST_F(ClaimPreparerTest, RefusesEditsThatARuntimeWouldRefuse) {
  prepare_answer_ = CdiEdits{.device_nodes = {{.path = "dev/fpga0"}}};
  EXPECT_THAT(Prepare().status().message(), HasSubstr("CDI edits of device fpga-0"));
  prepare_answer_ = std::map<std::string, CdiEdits>{{"fpga-1", {}}};
  EXPECT_THAT(Prepare().status().message(), HasSubstr("which the claim does not hold"));
  EXPECT_EQ(node_.files.Read(kCdiFile).status().code(), Code::kNotFound);
}

TEST_F(ClaimPreparerTest, AFullDiskIsAnErrorAndNothingIsHalfDone) {
  node_.files.FailWrites(ResourceExhausted("no space left on device"));
  EXPECT_EQ(Prepare().status().code(), Code::kResourceExhausted);
  EXPECT_THAT(prepared_, IsEmpty());
  node_.files.FailWrites(std::nullopt);
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(ClaimPreparerTest, OneClaimDoesOneThingAtATime) {
  answer_.reset();  // the API server takes its time
  std::vector<std::string> order;
  preparer_->Prepare(kPreparedClaim,
                     [&](auto ready) { order.push_back(ready.ok() ? "prepared" : "failed"); });
  preparer_->Unprepare(kPreparedClaim,
                       [&](const Status& s) { order.push_back(s.ok() ? "unprepared" : "?"); });
  preparer_->Prepare({.ns = "train", .name = "d", .uid = "uid-2"}, [&](auto) {});
  node_.loop.RunUntilIdle();
  EXPECT_THAT(order, IsEmpty());
  EXPECT_EQ(api_.requests().size(), 2u) << "another claim does not wait";
  EXPECT_EQ(preparer_->under_way(), 3u);
  api_.Head(0, 200);
  api_.Data(0, Claim("uid-1", "fpga-0").body);
  api_.End(0);
  node_.loop.RunUntilIdle();
  EXPECT_THAT(order, ElementsAre("prepared", "unprepared"));
  EXPECT_EQ(node_.files.Read(kCdiFile).status().code(), Code::kNotFound);
}

TEST_F(ClaimPreparerTest, ClaimsUnderWayAreBounded) {
  answer_.reset();
  for (std::size_t i = 0; i < ClaimPreparer::kUnderWayMax; ++i) {
    preparer_->Prepare({.ns = "n", .name = "c", .uid = "u" + std::to_string(i)}, [](auto) {});
  }
  EXPECT_EQ(Prepare().status().code(), Code::kResourceExhausted);
}

TEST_F(ClaimPreparerTest, TellsWhenNothingIsUnderWayAnyMore) {
  int idle = 0;
  preparer_->OnIdle([&] { ++idle; });
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(idle, 1);
  EXPECT_EQ(preparer_->under_way(), 0u);
}

TEST_F(ClaimPreparerTest, RefusesUidsThatAreNone) {
  EXPECT_EQ(Prepare({.ns = "a", .name = "b", .uid = "../x"}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Unprepare({.ns = "a", .name = "b", .uid = ""}).code(), Code::kInvalidArgument);
  EXPECT_THAT(api_.requests(), IsEmpty());
}

}  // namespace
}  // namespace galen::sdk