#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "sdk/claims/claim_preparer.h"

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
  EXPECT_THAT(*files_.List("/var/run/cdi"), IsEmpty());
}

// Another driver of this name, for another kubelet, may be in the middle of a write.
TEST_F(CdiStoreTest, TidiesUpOnlyAfterTheClaimsThatAreNamed) {
  ASSERT_EQ(store_.Write("uid-1", edits_), OkStatus());
  for (const char* name : {"fpga.example.com-claim_uid-1.json.tmp-Ab12Cd",
                           "fpga.example.com-claim_uid-2.json.tmp-Ab12Cd",
                           "other.example.com-claim_uid-1.json.tmp-Ab12Cd"}) {
    ASSERT_EQ(files_.WriteAtomically(std::string("/var/run/cdi/") + name, "{", 0644), OkStatus());
  }
  EXPECT_EQ(store_.RemoveTemporaryFiles({"uid-1", "uid-3"}), OkStatus());
  EXPECT_THAT(*files_.List("/var/run/cdi"),
              ElementsAre("fpga.example.com-claim_uid-1.json",
                          "fpga.example.com-claim_uid-2.json.tmp-Ab12Cd",
                          "other.example.com-claim_uid-1.json.tmp-Ab12Cd"));
}

TEST_F(CdiStoreTest, SaysWhichFileADiskFullHit) {
  files_.FailWrites(ResourceExhausted("no space left on device"));
  const Status status = store_.Write("uid-1", edits_);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("no space left"));
}

}  // namespace
}  // namespace galen::sdk
