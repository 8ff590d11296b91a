#include "cli/demo_place.h"

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

TEST(DemoPlace, SaysWhereItCouldNotBeMade) {
  const auto place = DemoPlace::Make("/nonexistent");
  ASSERT_FALSE(place.ok());
  EXPECT_NE(place.status().message().find("/nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
