#include "probes/sysfs/sysfs_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files/test_temporary_directory.h"

namespace galen::probes {
namespace {

TEST(RealSysfs, ReadsWhatThereIsAndSaysWhatIsNot) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.Path("d"));
  std::ofstream(directory.Path("d/f")) << "16\n";
  std::filesystem::create_symlink("d", directory.Path("link"));
  const RealSysfs files;
  EXPECT_EQ(*files.Read(directory.Path("link/f")), "16\n");
  EXPECT_EQ(files.Read(directory.Path("d/g")).status().code(), Code::kNotFound);
  EXPECT_FALSE(files.Read(directory.Path("d")).ok()) << "a directory";
  EXPECT_THAT(*files.List(directory.path()), ::testing::ElementsAre("d", "link"));
  EXPECT_TRUE(files.IsDirectory(directory.Path("link")));
  EXPECT_FALSE(files.IsDirectory(directory.Path("d/f")));
  EXPECT_EQ(files.Resolve(directory.Path("link")), directory.Path("d"));
  EXPECT_EQ(files.Resolve(directory.Path("none")), "");
}

TEST(RealSysfs, RefusesAFileThatIsNoAttribute) {
  const TemporaryDirectory directory;
  std::ofstream(directory.Path("f")) << std::string(kSysfsFileBytesMax + 1, '1');
  EXPECT_EQ(RealSysfs().Read(directory.Path("f")).status().code(), Code::kResourceExhausted);
}

// As a driver's code may: what stands in front of it is a thread of its own.
TEST(RealSysfs, WaitsForAPipeUntilSomebodyWrites) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo(directory.Path("pipe").c_str(), 0600), 0);
  StatusOr<std::string> text = Unavailable("not read");
  std::thread reader([&] { text = RealSysfs().Read(directory.Path("pipe")); });
  std::ofstream(directory.Path("pipe")) << "7\n";
  reader.join();
  EXPECT_EQ(*text, "7\n");
}

}  // namespace
}  // namespace galen::probes
