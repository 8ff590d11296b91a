#include "sdk/claims/prepared_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::sdk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDirectory[] = "/plugins/fpga.example.com/claims";

PreparedClaim Example() {
  return {.claim = {.ns = "train",
                    .name = "trainer-0-fpga",
                    .uid = "uid-1",
                    .devices = {{.device = "fpga-0",
                                 .request = "fpga",
                                 .share_id = "s",
                                 .admin_access = true}},
                    .configs = {{.parameters = R"({"mode":"fast"})",
                                 .requests = {"fpga"},
                                 .from_class = true}}},
          .pool = "node-7",
          .state = PreparedClaim::State::kPrepared,
          .boot_id = "boot-1",
          .edits = {
              {{"fpga-0",
                {.env = {"A=1"},
                 .device_nodes = {{.path = "/dev/f0", .host_path = "/dev/f", .permissions = "rw"}},
                 .mounts = {{.host_path = "/a", .container_path = "/b", .options = {"ro"}}},
                 .hooks = {{.name = "poststop", .path = "/x", .args = {"x"}, .env = {"E=1"}}}}}}}};
}

class PreparedClaimsTest : public ::testing::Test {
 protected:
  PreparedClaims Open() { return PreparedClaims(files_, NullLog(), kDirectory); }

  FakeFileSystem files_;
};

TEST_F(PreparedClaimsTest, AreKnownAfterARestart) {
  ASSERT_EQ(Open().Save(Example()), OkStatus());
  files_.Crash();
  PreparedClaims restarted = Open();
  const auto found = restarted.Find("uid-1");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ(**found, Example());
  EXPECT_THAT(*restarted.List(), ElementsAre("uid-1"));
}

TEST_F(PreparedClaimsTest, AreForgottenOnceAndTwice) {
  PreparedClaims claims = Open();
  ASSERT_EQ(claims.Save(Example()), OkStatus());
  EXPECT_EQ(claims.Remove("uid-1"), OkStatus());
  EXPECT_EQ(claims.Remove("uid-1"), OkStatus());
  EXPECT_FALSE(claims.Find("uid-1")->has_value());
  EXPECT_THAT(*claims.List(), IsEmpty());
}

TEST_F(PreparedClaimsTest, AreSeenByASecondInstance) {
  PreparedClaims old_instance = Open();
  PreparedClaims new_instance = Open();
  ASSERT_EQ(old_instance.Save(Example()), OkStatus());
  EXPECT_TRUE(new_instance.Find("uid-1")->has_value());
}

TEST_F(PreparedClaimsTest, ThatAreBrokenArePutAside) {
  PreparedClaims claims = Open();
  const std::string path = std::string(kDirectory) + "/uid-1.json";
  for (const char* text : {"", "{", "[]", R"({"version":9})", R"({"version":1,"state":"Prepared"})",
                           R"({"version":1,"state":"Gone","claim":{"uid":"uid-1"}})",
                           R"({"version":1,"state":"Prepared","claim":{"uid":"uid-2"}})"}) {
    ASSERT_EQ(files_.MakeDirectories(kDirectory, 0700), OkStatus());
    ASSERT_EQ(files_.WriteAtomically(path, text, 0600), OkStatus());
    const auto found = claims.Find("uid-1");
    ASSERT_TRUE(found.ok()) << text;
    EXPECT_FALSE(found->has_value()) << text;
    EXPECT_EQ(*files_.Read(path + ".corrupt"), text);
  }
}

TEST_F(PreparedClaimsTest, ThatAreBrokenStayWhereTheyAreForWhoeverOnlyLooks) {
  const std::string path = std::string(kDirectory) + "/uid-1.json";
  ASSERT_EQ(files_.MakeDirectories(kDirectory, 0700), OkStatus());
  for (const char* text : {"{", R"({"version":1,"state":"Prepared","claim":{"uid":"uid-2"}})"}) {
    ASSERT_EQ(files_.WriteAtomically(path, text, 0600), OkStatus());
    const auto seen = Open().Look("uid-1");
    EXPECT_EQ(seen.status().code(), Code::kDataLoss);
    EXPECT_THAT(seen.status().message(), HasSubstr(path));
    EXPECT_EQ(*files_.Read(path), text);
  }
}

TEST_F(PreparedClaimsTest, FilesWhoseNamesAreNoUidAreNotListedAndLoggedOnce) {
  std::vector<std::string> lines;
  Log log(
      LogLevel::kInfo, [] { return WallTime(); },
      [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  PreparedClaims claims(files_, log, kDirectory);
  ASSERT_EQ(claims.Save(Example()), OkStatus());
  ASSERT_EQ(files_.WriteAtomically(std::string(kDirectory) + "/a copy.json", "{}", 0600),
            OkStatus());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(*claims.List(), ElementsAre("uid-1"));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("a copy.json")));
}

TEST_F(PreparedClaimsTest, UidsThatWouldLeaveTheDirectoryAreRefused) {
  PreparedClaims claims = Open();
  PreparedClaim bad = Example();
  for (const char* uid : {"", "../../etc/passwd", "a/b", "A", "a b"}) {
    bad.claim.uid = uid;
    EXPECT_EQ(claims.Save(bad).code(), Code::kInvalidArgument) << uid;
    EXPECT_EQ(claims.Find(uid).status().code(), Code::kInvalidArgument) << uid;
    EXPECT_EQ(claims.Remove(uid).code(), Code::kInvalidArgument) << uid;
  }
}

TEST_F(PreparedClaimsTest, CannotBeKeptOnAFullDisk) {
  files_.FailWrites(ResourceExhausted("no space left on device"));
  EXPECT_EQ(Open().Save(Example()).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace galen::sdk
