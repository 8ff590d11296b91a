#include "agent/manager/claim_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPath = "/claims.json";
Status SaveNow(ClaimCheckpoint& claims) {
  Status outcome = Internal("no answer");
  claims.Save([&](const Status& saved) { outcome = saved; });
  return outcome;
}

const DeviceId kPreparedGpu{"gpu.example.com", "node-1", "gpu-0"};

TEST(ClaimCheckpoint, ComeBackAfterARestart) {
  FakeFileSystem files;
  ClaimCheckpoint before(files, kPath);
  ClaimRecord& claim = before.Add({"default", "a-gpu"}, "uid-1");
  claim.pods = {"pod-1", "pod-2"};
  claim.drivers = {"gpu.example.com"};
  claim.devices = {{kPreparedGpu, "share-1", {"gpu.example.com/gpu=gpu-0", "second"}}};
  ASSERT_EQ(SaveNow(before), OkStatus());
  files.Crash();
  ClaimCheckpoint after(files, kPath);
  ASSERT_TRUE(after.Load().ok());
  ASSERT_NE(after.Find("uid-1"), nullptr);
  EXPECT_EQ(*after.Find("uid-1"), claim);
  EXPECT_EQ(after.FirstCdiId("uid-1", kPreparedGpu, "share-1"), "gpu.example.com/gpu=gpu-0");
  EXPECT_EQ(after.FirstCdiId("uid-1", kPreparedGpu, "share-2"), "");
  EXPECT_EQ(after.FirstCdiId("uid-2", kPreparedGpu, "share-1"), "");
  EXPECT_THAT(after.ClaimsOfPod("pod-2"), ElementsAre("uid-1"));
  EXPECT_THAT(after.ClaimsOfPod("pod-3"), IsEmpty());
}

TEST(ClaimCheckpoint, WhatACrashLeftOfAWriteGoesAtTheNextStart) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/state", 0700).ok());
  ASSERT_TRUE(files.WriteAtomically("/state/claims.json.tmp-Ab12Cd", "{", 0600).ok());
  ASSERT_TRUE(ClaimCheckpoint(files, "/state/claims.json").Load().ok());
  EXPECT_THAT(*files.List("/state"), IsEmpty());
}

TEST(ClaimCheckpoint, AShareOfADriverThatNamesNoSharesHasItsId) {
  FakeFileSystem files;
  ClaimCheckpoint claims(files, kPath);
  claims.Add({"default", "a-gpu"}, "uid-1").devices = {
      {.device = kPreparedGpu, .cdi_ids = {"gpu.example.com/gpu=whole"}},
      {.device = kPreparedGpu, .share_id = "share-2", .cdi_ids = {"gpu.example.com/gpu=second"}}};
  EXPECT_EQ(claims.FirstCdiId("uid-1", kPreparedGpu, "share-1"), "gpu.example.com/gpu=whole");
  EXPECT_EQ(claims.FirstCdiId("uid-1", kPreparedGpu, "share-2"), "gpu.example.com/gpu=second");
  EXPECT_EQ(claims.FirstCdiId("uid-1", kPreparedGpu, ""), "gpu.example.com/gpu=whole");
}

TEST(ClaimCheckpoint, AContainerGetsAllIdsThatItsDriverNamed) {
  FakeFileSystem files;
  ClaimCheckpoint claims(files, kPath);
  claims.Add({"default", "a-gpu"}, "uid-1").devices = {
      {.device = kPreparedGpu, .cdi_ids = {"gpu.example.com/gpu=0", "gpu.example.com/mounts=all"}}};
  EXPECT_THAT(claims.CdiIds("uid-1", kPreparedGpu, ""),
              ElementsAre("gpu.example.com/gpu=0", "gpu.example.com/mounts=all"));
  EXPECT_THAT(claims.CdiIds("uid-2", kPreparedGpu, ""), IsEmpty());
}

TEST(ClaimCheckpoint, TwoClaimsOfOneNameAreTwo) {
  FakeFileSystem files;
  ClaimCheckpoint claims(files, kPath);
  claims.Add({"default", "a-gpu"}, "uid-old").pods = {"pod-old"};
  claims.Add({"default", "a-gpu"}, "uid-new").pods = {"pod-new"};
  EXPECT_THAT(claims.ClaimsOfPod("pod-new"), ElementsAre("uid-new"));
  claims.Remove("uid-old");
  EXPECT_NE(claims.Find("uid-new"), nullptr);
}

TEST(ClaimCheckpoint, AMissingCheckpointIsAnEmptyOne) {
  FakeFileSystem files;
  ClaimCheckpoint claims(files, kPath);
  EXPECT_TRUE(claims.Load().ok());
  EXPECT_THAT(claims.all(), IsEmpty());
}

TEST(ClaimCheckpoint, ACorruptCheckpointIsSetAside) {
  for (const char* text : {"{\"version\":1,\"cla", "{\"version\":99,\"claims\":[]}", ""}) {
    FakeFileSystem files;
    ASSERT_TRUE(files.WriteAtomically(kPath, text, 0600).ok());
    ClaimCheckpoint claims(files, kPath);
    const Status loaded = claims.Load();
    EXPECT_EQ(loaded.code(), Code::kDataLoss);
    EXPECT_THAT(loaded.message(), HasSubstr("/claims.json.corrupt"));
    EXPECT_EQ(*files.Read("/claims.json.corrupt"), text);
    EXPECT_EQ(SaveNow(claims), OkStatus());
  }
}

TEST(ClaimCheckpoint, AFullDiskIsReported) {
  FakeFileSystem files;
  ClaimCheckpoint claims(files, kPath);
  files.FailWrites(ResourceExhausted("no space left"));
  EXPECT_THAT(SaveNow(claims).message(), HasSubstr("write checkpoint /claims.json"));
}

TEST(ClaimCheckpoint, WhatChangesDuringAWriteIsInTheOneAfterIt) {
  FakeFileSystem files;
  FakeDiskQueue disk;
  ClaimCheckpoint claims(files, kPath, &disk);
  disk.Hang();
  std::vector<std::string> answers;
  const auto save = [&](const std::string& uid) {
    claims.Add({"default", uid}, uid);
    claims.Save([&answers, uid](const Status& saved) {
      EXPECT_EQ(saved, OkStatus());
      answers.push_back(uid);
    });
  };
  save("uid-1");
  save("uid-2");
  save("uid-3");
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_EQ(disk.waiting(), 1u) << "what comes during a write is one more";
  EXPECT_TRUE(claims.busy());
  disk.GoOn();
  EXPECT_THAT(answers, ElementsAre("uid-1", "uid-2", "uid-3"));
  EXPECT_FALSE(claims.busy());
  ClaimCheckpoint after(files, kPath);
  ASSERT_TRUE(after.Load().ok());
  EXPECT_EQ(after.all().size(), 3u);
}

TEST(ClaimCheckpoint, AWriteThatOutlivesItAnswersNobody) {
  FakeFileSystem files;
  FakeDiskQueue disk;
  disk.Hang();
  {
    ClaimCheckpoint claims(files, kPath, &disk);
    claims.Add({"default", "a-gpu"}, "uid-1");
    claims.Save([](const Status&) { FAIL(); });
  }
  disk.GoOn();
  EXPECT_TRUE(files.Read(kPath).ok());
}

}  // namespace
}  // namespace galen::agent
