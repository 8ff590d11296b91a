#include "agent/manager/claim_caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/holdings/fake_node_view.h"
#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "protos/dra/v1/dra.pb.h"

namespace galen::agent {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceId PreparedGpu(int i) { return {"gpu.example.com", "node-1", "gpu-" + std::to_string(i)}; }
const DeviceId kNic{"nic.example.com", "node-1", "nic-0"};

// Answers as drivers do, later; "prepare gpu.example.com uid-a-gpu" is what it was asked.
class FakeDrivers final : public DriverCaller {
 public:
  explicit FakeDrivers(Loop& loop) : loop_(loop) {}
  void CallDriver(const std::string& driver, NodeCall call, std::string request,
                  std::function<void(StatusOr<std::string>)> done) override {
    loop_.Post([this, driver, call, request, done] { done(Answer(driver, call, request)); });
  }
  std::vector<std::string> Take() { return std::exchange(asked, {}); }

  std::vector<std::string> asked;
  std::string error;
  std::vector<std::string> gpus = {"gpu-0"};  // that it answers with
  Status unreachable;
  bool nonsense = false, leave_out = false;

 private:
  StatusOr<std::string> Answer(const std::string& driver, NodeCall call, const std::string& bytes) {
    dra::NodePrepareResourcesRequest request;  // the other has the same fields
    EXPECT_TRUE(request.ParseFromString(bytes));
    dra::NodePrepareResourcesResponse response;
    for (const dra::Claim& claim : request.claims()) {
      asked.push_back((call == NodeCall::kPrepare ? "prepare " : "unprepare ") + driver + " " +
                      claim.uid());
      if (leave_out) continue;
      dra::NodePrepareResourceResponse& item = (*response.mutable_claims())[claim.uid()];
      if (call == NodeCall::kUnprepare) continue;
      for (const auto& name : driver.starts_with("gpu") ? gpus : std::vector{kNic.device}) {
        dra::Device& device = *item.add_devices();
        device.set_pool_name("node-1");
        device.set_device_name(name);
        device.add_cdi_device_ids(driver + "/x=" + claim.uid());
      }
    }
    if (!unreachable.ok()) return unreachable;
    if (nonsense) return std::string("\xff\xff");
    return call == NodeCall::kPrepare ? WithError(response) : Unprepared(response);
  }
  std::string WithError(dra::NodePrepareResourcesResponse response) const {
    for (auto& [uid, item] : *response.mutable_claims()) item.set_error(error);
    return response.SerializeAsString();
  }
  std::string Unprepared(const dra::NodePrepareResourcesResponse& from) const {
    dra::NodeUnprepareResourcesResponse response;
    for (const auto& [uid, item] : from.claims())
      (*response.mutable_claims())[uid].set_error(error);
    return response.SerializeAsString();
  }

  Loop& loop_;
};

class ClaimCallerTest : public ::testing::Test {
 protected:
  ClaimCallerTest() { Restart(); }
  void Restart() {
    preparer_.reset();
    claims_.emplace(files_, "/claims.json", &disk_);
    ASSERT_TRUE(claims_->Load().ok());
    preparer_.emplace(ClaimCaller::Edges{loop_, drivers_, view_, *claims_});
  }
  const kube::Pod& Pod(const std::string& name) { return view_.pods.at({"default", name}); }
  Status Prepare(const std::string& pod) {
    // It may come after this has returned, from a disk that hangs.
    const auto outcome = std::make_shared<Status>(Internal("no answer"));
    preparer_->Prepare(Pod(pod), [outcome](const Status& status) { *outcome = status; });
    loop_.RunUntilIdle();
    return *outcome;
  }
  Status Unprepare(const std::string& pod) {
    const auto outcome = std::make_shared<Status>(Internal("no answer"));
    preparer_->Unprepare("uid-" + pod, [outcome](const Status& status) { *outcome = status; });
    loop_.RunUntilIdle();
    return *outcome;
  }
  // Pods a and b that share one claim.
  void AddSharers() {
    for (const std::string name : {"a", "b"}) {
      kube::Pod& pod = view_.AddPod(name);
      pod.claims = {{.name = "gpu", .claim_name = "shared"}};
      pod.claim_names.clear();
    }
    view_.AddClaim("shared", {{"main", PreparedGpu(0)}}, "a")
        .reserved_for.push_back({{"default", "b"}, "uid-b"});
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  FakeDiskQueue disk_;
  FakeNodeView view_;
  FakeDrivers drivers_{loop_};
  std::optional<ClaimCheckpoint> claims_;
  std::optional<ClaimCaller> preparer_;
};

TEST_F(ClaimCallerTest, WaitsUntilTheClaimIsMadeAllocatedAndThePods) {
  kube::Pod& pod = view_.AddPod("a");
  pod.claim_names.clear();
  EXPECT_TRUE(preparer_->IsWaiting(pod)) << "no claim was made from the template yet";
  pod.claim_names = {{"gpu", "a-gpu"}};
  EXPECT_TRUE(preparer_->IsWaiting(pod)) << "the claim is not known yet";
  view_.AddClaim("a-gpu", {}, "a");
  EXPECT_TRUE(preparer_->IsWaiting(pod)) << "not allocated";
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "b");
  EXPECT_TRUE(preparer_->IsWaiting(pod)) << "somebody else's";
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  EXPECT_FALSE(preparer_->IsWaiting(pod));
  EXPECT_FALSE(preparer_->IsReady(pod));
  view_.unread = {pod.meta.key};
  EXPECT_TRUE(preparer_->IsWaiting(pod)) << "not read since the Pod is there";
}

TEST_F(ClaimCallerTest, AsksEachDriverOfTheClaimAndKeepsItsCdiIds) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}, {"net", kNic}}, "a");
  EXPECT_EQ(Prepare("a"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ElementsAre("prepare gpu.example.com uid-a-gpu",
                                           "prepare nic.example.com uid-a-gpu"));
  EXPECT_TRUE(preparer_->IsReady(Pod("a")));
  EXPECT_EQ(claims_->FirstCdiId("uid-a-gpu", kNic, ""), "nic.example.com/x=uid-a-gpu");
}

TEST_F(ClaimCallerTest, APodWithoutClaimsIsReadyAtOnce) {
  kube::Pod& pod = view_.AddPod("a");
  pod.claims.clear();
  pod.claim_names.clear();
  EXPECT_FALSE(preparer_->IsWaiting(pod));
  EXPECT_TRUE(preparer_->IsReady(pod));
}

TEST_F(ClaimCallerTest, WhateverADriverGetsWrongIsWorthAnotherTry) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  drivers_.error = "no such device";
  EXPECT_THAT(Prepare("a").message(), HasSubstr("driver gpu.example.com: no such device"));
  drivers_.error = "";
  drivers_.leave_out = true;
  EXPECT_THAT(Prepare("a").message(), HasSubstr("left claim uid-a-gpu out"));
  drivers_.leave_out = false;
  drivers_.nonsense = true;
  EXPECT_THAT(Prepare("a").message(), HasSubstr("cannot be read"));
  drivers_.nonsense = false;
  drivers_.unreachable = InvalidArgument("bad");
  EXPECT_TRUE(IsRetryable(Prepare("a")));
  EXPECT_FALSE(preparer_->IsReady(Pod("a")));
  drivers_.unreachable = OkStatus();
  EXPECT_EQ(Prepare("a"), OkStatus());
}

TEST_F(ClaimCallerTest, NotesDownWhatItAsksForBeforeItAsks) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  preparer_->Prepare(Pod("a"), [](const Status&) {});
  files_.Crash();
  Restart();
  EXPECT_THAT(preparer_->PodsInCheckpoint(), ElementsAre("uid-a"));
  EXPECT_EQ(Unprepare("a"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ::testing::Contains("unprepare gpu.example.com uid-a-gpu"));
}

TEST_F(ClaimCallerTest, ASharedClaimIsPreparedOnceAndLetGoOfWithItsLastPod) {
  AddSharers();
  EXPECT_EQ(Prepare("a"), OkStatus());
  EXPECT_EQ(Prepare("b"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ElementsAre("prepare gpu.example.com uid-shared"));
  EXPECT_EQ(Unprepare("a"), OkStatus());
  EXPECT_THAT(drivers_.Take(), IsEmpty());
  EXPECT_TRUE(preparer_->IsReady(Pod("b")));
  EXPECT_EQ(Unprepare("b"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-shared"));
  EXPECT_THAT(claims_->all(), IsEmpty());
}

TEST_F(ClaimCallerTest, OneClaimIsNotAskedForTwiceAtATime) {
  AddSharers();
  Status first, second;
  preparer_->Prepare(Pod("a"), [&](const Status& s) { first = s; });
  preparer_->Prepare(Pod("b"), [&](const Status& s) { second = s; });
  loop_.RunUntilIdle();
  EXPECT_EQ(first, OkStatus());
  EXPECT_TRUE(IsRetryable(second));
  EXPECT_EQ(Prepare("b"), OkStatus());
}

TEST_F(ClaimCallerTest, LetsGoOfAClaimWhoseObjectIsGone) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  ASSERT_EQ(Prepare("a"), OkStatus());
  view_.claims.clear();
  view_.pods.clear();
  drivers_.Take();
  EXPECT_EQ(Unprepare("a"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-a-gpu"));
}

TEST_F(ClaimCallerTest, KeepsAClaimThatItsDriverDoesNotLetGoOf) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  ASSERT_EQ(Prepare("a"), OkStatus());
  drivers_.error = "busy";
  EXPECT_TRUE(IsRetryable(Unprepare("a")));
  EXPECT_NE(claims_->Find("uid-a-gpu"), nullptr);
  drivers_.error = "";
  EXPECT_EQ(Unprepare("a"), OkStatus());
}

TEST_F(ClaimCallerTest, ANewClaimOfAnOldNameDoesNotWaitForTheOldOne) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  ASSERT_EQ(Prepare("a"), OkStatus());
  // The Pod was deleted by force and made again; its claim was, too.
  view_.pods.at({"default", "a"}).meta.uid = "uid-a2";
  Claim& claim = view_.AddClaim("a-gpu", {{"main", PreparedGpu(1)}}, "a");
  claim.uid = "uid-a-gpu-2";
  claim.reserved_for = {{{"default", "a"}, "uid-a2"}};
  drivers_.gpus = {"gpu-1"};
  EXPECT_EQ(Prepare("a"), OkStatus());
  EXPECT_TRUE(preparer_->IsReady(Pod("a")));
  EXPECT_EQ(Unprepare("a"), OkStatus()) << "the old Pod's";
  EXPECT_TRUE(preparer_->IsReady(Pod("a")));
}

// The claim "shared" was prepared for Pod a on gpu-0; now it is freed and Pod b's, on gpu-1.
class ReallocatedClaimTest : public ClaimCallerTest {
 protected:
  ReallocatedClaimTest() {
    AddSharers();
    view_.claims.at({"default", "shared"}).reserved_for.pop_back();
    view_.claims.at({"default", "shared"}).allocated_at = "2026-11-21T14:00:00Z";
    EXPECT_EQ(Prepare("a"), OkStatus());
    drivers_.Take();
    Claim& claim = view_.AddClaim("shared", {{"main", PreparedGpu(1)}}, "b");
    claim.allocated_at = "2026-11-21T15:00:00Z";
    drivers_.gpus = {"gpu-1"};
  }
};

TEST_F(ReallocatedClaimTest, IsPreparedAsItIsOnceThePodOfItsFormerAllocationLetsGo) {
  EXPECT_FALSE(preparer_->IsReady(Pod("b")));
  EXPECT_EQ(Prepare("b").code(), Code::kAborted) << "the former Pod's containers may use it";
  EXPECT_THAT(drivers_.Take(), IsEmpty());
  EXPECT_EQ(Unprepare("a"), OkStatus());
  EXPECT_EQ(Prepare("b"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-shared",
                                           "prepare gpu.example.com uid-shared"));
  EXPECT_TRUE(preparer_->IsReady(Pod("b")));
  EXPECT_NE(claims_->FirstCdiId("uid-shared", PreparedGpu(1), ""), "");
  EXPECT_EQ(claims_->FirstCdiId("uid-shared", PreparedGpu(0), ""), "");
}

TEST_F(ReallocatedClaimTest, IsUnpreparedFirstWhereNobodyElseHoldsIt) {
  view_.AddClaim("shared", {{"main", PreparedGpu(1)}}, "a").allocated_at = "2026-11-21T15:00:00Z";
  for (const bool restarted : {false, true}) {
    if (restarted) {
      Restart();
      view_.claims.at({"default", "shared"}).allocated_at = "2026-11-21T16:00:00Z";
    }
    EXPECT_FALSE(preparer_->IsReady(Pod("a")));
    EXPECT_EQ(Prepare("a"), OkStatus());
    EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-shared",
                                             "prepare gpu.example.com uid-shared"));
    EXPECT_TRUE(preparer_->IsReady(Pod("a")));
  }
}

TEST_F(ReallocatedClaimTest, ThePodThatChangesMeanwhileIsLeftToItsNextTurn) {
  view_.AddClaim("shared", {{"main", PreparedGpu(1)}}, "a");
  Status outcome;
  preparer_->Prepare(Pod("a"), [&](const Status& status) { outcome = status; });
  view_.pods.at({"default", "a"}).meta.uid = "uid-a2";
  loop_.RunUntilIdle();
  EXPECT_EQ(outcome.code(), Code::kAborted);
  EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-shared"));
}

TEST_F(ReallocatedClaimTest, ADriverThatAnswersFromMemoryIsNotBelieved) {
  EXPECT_EQ(Unprepare("a"), OkStatus());
  for (const auto& gpus : {std::vector<std::string>{"gpu-0"}, {"gpu-1", "gpu-0"}}) {
    drivers_.gpus = gpus;
    EXPECT_THAT(Prepare("b").message(), HasSubstr("node-1/gpu-0 for claim default/shared, which"));
    EXPECT_FALSE(preparer_->IsReady(Pod("b")));
    EXPECT_THAT(claims_->Find("uid-shared")->devices, IsEmpty());
  }
}

// The checkpoint of an agent that did not write allocations down.
TEST_F(ReallocatedClaimTest, IsKnownByItsDevicesWhereTheRecordSaysNoMore) {
  view_.AddClaim("shared", {{"main", PreparedGpu(1)}}, "a");
  claims_->Find("uid-shared")->allocated.clear();
  EXPECT_FALSE(preparer_->IsReady(Pod("a")));
  EXPECT_EQ(Prepare("a"), OkStatus());
  EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-shared",
                                           "prepare gpu.example.com uid-shared"));
}

TEST_F(ClaimCallerTest, AsksAgainAfterARestartBecauseDriversForget) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  ASSERT_EQ(Prepare("a"), OkStatus());
  Restart();
  EXPECT_FALSE(preparer_->IsReady(Pod("a")));
  EXPECT_NE(claims_->FirstCdiId("uid-a-gpu", PreparedGpu(0), ""), "")
      << "its name is known all the same";
  EXPECT_EQ(Prepare("a"), OkStatus());
  EXPECT_TRUE(preparer_->IsReady(Pod("a")));
}

TEST_F(ClaimCallerTest, AFullDiskStopsPreparing) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  files_.FailWrites(ResourceExhausted("no space left"));
  EXPECT_TRUE(IsRetryable(Prepare("a")));
  EXPECT_THAT(drivers_.Take(), IsEmpty()) << "what is not noted down is not asked for";
}

TEST_F(ClaimCallerTest, AnAnswerThatComesAfterTheEndFindsNobody) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  preparer_->Prepare(Pod("a"), [](const Status&) { FAIL(); });
  preparer_.reset();
  loop_.RunUntilIdle();
}

TEST_F(ClaimCallerTest, WhoLetsGoOfASharedClaimIsNotInTheCheckpointAnyMore) {
  AddSharers();
  ASSERT_EQ(Prepare("a"), OkStatus());
  ASSERT_EQ(Prepare("b"), OkStatus());
  ASSERT_EQ(Unprepare("a"), OkStatus());
  Restart();
  EXPECT_THAT(preparer_->PodsInCheckpoint(), ElementsAre("uid-b"));
}

TEST_F(ClaimCallerTest, ADriverIsAskedOnceTheDiskHasTheRecord) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  disk_.Hang();
  EXPECT_EQ(Prepare("a").message(), "no answer");
  EXPECT_THAT(drivers_.Take(), IsEmpty());
  disk_.GoOn();
  disk_.Hang();
  loop_.RunUntilIdle();
  EXPECT_THAT(drivers_.Take(), ElementsAre("prepare gpu.example.com uid-a-gpu"));
  EXPECT_FALSE(preparer_->IsReady(Pod("a"))) << "the driver's answer is not on the disk";
  disk_.GoOn();
  EXPECT_TRUE(preparer_->IsReady(Pod("a")));
}

TEST_F(ClaimCallerTest, AClaimIsWorkedOnForOnePodWhileTheDiskHangs) {
  AddSharers();
  disk_.Hang();
  EXPECT_EQ(Prepare("a").message(), "no answer");
  EXPECT_EQ(Prepare("b").code(), Code::kAborted);
  disk_.GoOn();
  loop_.RunUntilIdle();
  EXPECT_TRUE(preparer_->IsReady(Pod("a")));
  disk_.Hang();
  EXPECT_EQ(Prepare("b").message(), "no answer");
  EXPECT_FALSE(preparer_->IsReady(Pod("b"))) << "the record on the disk does not name it";
  disk_.GoOn();
  EXPECT_TRUE(preparer_->IsReady(Pod("b")));
  EXPECT_THAT(drivers_.Take(), ElementsAre("prepare gpu.example.com uid-shared"));
}

TEST_F(ClaimCallerTest, AClaimIsPreparedAnewOnceTheDiskHasForgottenIt) {
  view_.AddPod("a");
  view_.AddClaim("a-gpu", {{"main", PreparedGpu(0)}}, "a");
  ASSERT_EQ(Prepare("a"), OkStatus());
  drivers_.Take();
  disk_.Hang();
  EXPECT_EQ(Unprepare("a").message(), "no answer");
  EXPECT_THAT(drivers_.Take(), ElementsAre("unprepare gpu.example.com uid-a-gpu"));
  EXPECT_EQ(Prepare("a").code(), Code::kAborted);
  disk_.GoOn();
  EXPECT_EQ(Prepare("a"), OkStatus());
}

}  // namespace
}  // namespace galen::agent
