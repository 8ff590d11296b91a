#include "probes/sysfs/file_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Paths(const FakeSysfs& files, std::string_view pattern) {
  std::vector<std::string> paths;
  const std::vector<FoundPath> all = *FindPaths(files, "/sys", pattern);
  for (const FoundPath& found : all) paths.push_back(found.path);
  return paths;
}

TEST(FilePattern, AStarStandsForAPartOfOneNameAndNumbersSortByValue) {
  FakeSysfs files;
  for (const char* name : {"mc10", "mc2", "power", "mc2x"}) {
    files.files[std::string("/sys/edac/") + name + "/ue_count"] = "0\n";
  }
  EXPECT_THAT(Paths(files, "edac/mc*"), ElementsAre("edac/mc2", "edac/mc2x", "edac/mc10"));
  EXPECT_THAT(Paths(files, "edac/*c10/ue_count"), ElementsAre("edac/mc10/ue_count"));
}

TEST(FilePattern, GivesAPathWithoutAStarAsItIsAndNothingBelowWhatIsMissing) {
  const FakeSysfs files;
  EXPECT_THAT(Paths(files, "a/b"), ElementsAre("a/b"));
  EXPECT_THAT(Paths(files, "a/b*/c"), IsEmpty());
}

TEST(FilePattern, MoreThanAPatternMayNameIsAnErrorAndNoneIsLeftOutInSilence) {
  FakeSysfs files;
  for (std::size_t i = 0; i < kFoundPathsMax; ++i) {
    files.files["/sys/hwmon/temp" + std::to_string(i) + "_input"] = "1\n";
  }
  EXPECT_EQ(Paths(files, "hwmon/temp*_input").size(), kFoundPathsMax);
  files.files["/sys/hwmon/temp999_input"] = "1\n";
  EXPECT_EQ(FindPaths(files, "/sys", "hwmon/temp*_input").status().message(),
            "hwmon/temp*_input: more than 256 files match, write a narrower pattern");
}

TEST(FilePattern, FillsInWhatItsStarsFound) {
  FakeSysfs files;
  files.files["/sys/hwmon/hwmon7/temp3_input"] = "1\n";
  const StatusOr<std::vector<FoundPath>> found =
      FindPaths(files, "/sys", "hwmon/hwmon*/temp*_input");
  ASSERT_THAT(found->front().stars, ElementsAre("7", "3"));
  EXPECT_EQ(FillStars("hwmon/hwmon*/temp*_crit", found->front().stars), "hwmon/hwmon7/temp3_crit");
}

TEST(FilePattern, NamesADeviceByThePartsThatVary) {
  EXPECT_EQ(StarredName("edac/mc/mc*", "edac/mc/mc0"), "mc0");
  EXPECT_EQ(StarredName("class/infiniband/*/ports/*", "class/infiniband/mlx5_0/ports/1"),
            "mlx5_0-1");
  EXPECT_EQ(StarredName("class/nvme/nvme0", "class/nvme/nvme0"), "nvme0");
}

}  // namespace
}  // namespace galen::probes
