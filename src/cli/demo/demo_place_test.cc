#include "cli/demo/demo_place.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace galen::cli {
namespace {

TEST(DemoPlace, IsNewAndGoesAwayWhole) {
  const auto place = DemoPlace::Make(testing::TempDir());
  ASSERT_TRUE(place.ok());
  std::filesystem::create_directories(place->agent_state());
  place->Remove();
  EXPECT_FALSE(std::filesystem::exists(place->directory));
}

TEST(DemoPlace, LeavesRoomForSocketNames) {
  const DemoPlace place{"/tmp/galen-XXXXXX"};
  EXPECT_LE((place.kubelet_root() + "/plugins_registry/gpu.example.com-reg.sock").size(), 107u);
}

TEST(DemoPlace, IsAbsoluteWhereTheDirectoryWasNot) {
  const auto place = DemoPlace::Make(".");
  ASSERT_TRUE(place.ok()) << place.status().message();
  EXPECT_TRUE(std::filesystem::path(place->directory).is_absolute());
  place->Remove();
}

TEST(DemoPlace, TakesADirectoryByNameOnlyWhileItIsEmpty) {
  const auto parent = DemoPlace::Make(testing::TempDir());
  ASSERT_TRUE(parent.ok());
  const std::string wanted = parent->directory + "/mine/";
  const auto place = DemoPlace::MakeAt(wanted);
  ASSERT_TRUE(place.ok()) << place.status().message();
  EXPECT_EQ(std::filesystem::path(place->directory).filename().string(), "mine")
      << "no slash at the end";
  EXPECT_TRUE(DemoPlace::MakeAt(wanted).ok()) << "nothing is in it yet";
  std::filesystem::create_directories(place->agent_state());
  EXPECT_EQ(DemoPlace::MakeAt(wanted).status().code(), Code::kAlreadyExists);
  parent->Remove();
}

// Credentials lie in it: they must not stay behind the link, nor be read by others.
TEST(DemoPlace, ThroughALinkIsTheDirectoryThatItLeadsTo) {
  namespace fs = std::filesystem;
  const auto parent = DemoPlace::Make(testing::TempDir());
  ASSERT_TRUE(parent.ok());
  const fs::path target = fs::canonical(parent->directory) / "target";
  const fs::path link = fs::path(parent->directory) / "link";
  fs::create_directory(target);
  fs::permissions(target, fs::perms(0755));
  fs::create_directory_symlink(target, link);
  const auto place = DemoPlace::MakeAt(link.string());
  ASSERT_TRUE(place.ok()) << place.status().message();
  EXPECT_EQ(place->directory, target.string());
  EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_all);
  fs::create_directories(place->agent_state());
  place->Remove();
  EXPECT_FALSE(fs::exists(target));
  parent->Remove();
}

TEST(DemoPlace, SaysWhereItCouldNotBeMade) {
  const auto place = DemoPlace::Make("/nonexistent");
  ASSERT_FALSE(place.ok());
  EXPECT_NE(place.status().message().find("/nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
