#include "sdk/claims/cdi_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CdiStoreTest : public ::testing::Test {
 protected:
  FakeFileSystem files_;
  CdiStore store_{files_, "/var/run/cdi", "fpga.example.com"};
  const ClaimEdits edits_{{{"fpga-0", {.env = {"FPGA=0"}}}}};
};

TEST_F(CdiStoreTest, WritesAFileForAClaim) {
  ASSERT_EQ(store_.Write("uid-1", edits_), OkStatus());
  const auto text = files_.Read("/var/run/cdi/fpga.example.com-claim_uid-1.json");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*Json::Parse(*text), MakeCdiSpec("fpga.example.com", "uid-1", edits_));
}

TEST_F(CdiStoreTest, WritesTheSameOnlyOnce) {
  ASSERT_EQ(store_.Write("uid-1", edits_), OkStatus());
  const auto writes = files_.writes();
  ASSERT_EQ(store_.Write("uid-1", edits_), OkStatus());
  EXPECT_EQ(files_.writes(), writes);
}

TEST_F(CdiStoreTest, RemovingTwiceIsNoFault) {
  ASSERT_EQ(store_.Write("uid-1", edits_), OkStatus());
  EXPECT_EQ(store_.Remove("uid-1"), OkStatus());
  EXPECT_EQ(store_.Remove("uid-1"), OkStatus());
  EXPECT_THAT(*store_.Claims(), IsEmpty());
}

TEST_F(CdiStoreTest, KnowsItsOwnClaimsAmongOthersFiles) {
  EXPECT_THAT(*store_.Claims(), IsEmpty());
  ASSERT_EQ(store_.Write("uid-1", edits_), OkStatus());
  ASSERT_EQ(store_.Write("uid-2", edits_), OkStatus());
  ASSERT_EQ(files_.WriteAtomically("/var/run/cdi/nvidia.yaml", "x", 0644), OkStatus());
  ASSERT_EQ(CdiStore(files_, "/var/run/cdi", "other.example.com").Write("uid-3", edits_),
            OkStatus());
  EXPECT_THAT(*store_.Claims(), ElementsAre("uid-1", "uid-2"));
}

TEST_F(CdiStoreTest, SaysWhichFileADiskFullHit) {
  files_.FailWrites(ResourceExhausted("no space left on device"));
  const Status status = store_.Write("uid-1", edits_);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("no space left"));
}

}  // namespace
}  // namespace galen::sdk
